#include "program_break.hpp"

#include "kernel.hpp"
#include "top_of_heap.hpp"

#include <atomic>

// Where glibc believes the break to be; null in other C libraries.
extern "C" __attribute__((weak)) void* __curbrk;

namespace memtoll {
namespace {

std::atomic<uintptr_t> start{0}, last_break{0};

} // namespace

void start_program_break() {
    // glibc's own variable is null before its first use.
    start.store(static_cast<uintptr_t>(kernel::call(SYS_brk, 0)), std::memory_order_relaxed);
    last_break.store(first_break(), std::memory_order_relaxed);
}

uintptr_t first_break() { return start.load(std::memory_order_relaxed); }

uintptr_t known_break() {
    return &__curbrk == nullptr ? 0 : reinterpret_cast<uintptr_t>(__atomic_load_n(&__curbrk, __ATOMIC_RELAXED));
}

bool break_moved(uintptr_t& from, uintptr_t& to) {
    from = last_break.load(std::memory_order_relaxed);
    do {
        to = known_break();
        if (to == from || to == 0) return false;
    } while (!last_break.compare_exchange_weak(from, to, std::memory_order_relaxed));
    heap_has_moved(first_break(), from, to);
    return true;
}

} // namespace memtoll
