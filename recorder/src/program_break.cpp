#include "program_break.hpp"

#include "kernel.hpp"

#include <atomic>

// Where glibc believes the break to be; null in other C libraries.
extern "C" __attribute__((weak)) void* __curbrk;

namespace memtoll {
namespace {

std::atomic<uintptr_t> last_break{0};

} // namespace

void start_program_break() {
    // glibc's own variable is null before its first use.
    last_break.store(static_cast<uintptr_t>(kernel::call(SYS_brk, 0)), std::memory_order_relaxed);
}

bool break_moved(uintptr_t& from, uintptr_t& to) {
    if (&__curbrk == nullptr) return false;
    from = last_break.load(std::memory_order_relaxed);
    do {
        to = reinterpret_cast<uintptr_t>(__atomic_load_n(&__curbrk, __ATOMIC_RELAXED));
        if (to == from || to == 0) return false;
    } while (!last_break.compare_exchange_weak(from, to, std::memory_order_relaxed));
    return true;
}

} // namespace memtoll
