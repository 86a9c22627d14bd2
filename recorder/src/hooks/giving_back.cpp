#include "giving_back.hpp"

#include "../kernel.hpp"
#include "scope.hpp"

extern "C" __attribute__((weak)) void __libc_free(void*);

namespace memtoll {

void before_giving_back(arch::HookFrame frame) {
    // Without the recorder's arena there is no supervisor either.
    HookScope scope(frame);
    if (!scope) return;
    scope.no_call();
    const uint64_t above = session.arena->look_above_kib.load(std::memory_order_relaxed);
    if (above != 0 && kernel::largest_resident_set_kib() >= above) await_look_before_giving_back(scope.log());
}

bool lowers_heap(const void* block) {
    const bool is_glibc = __libc_free && next.free == &__libc_free;
    if (!is_glibc || !joins_top(block, first_break(), known_break())) return false;
    top_of_heap.store(0, std::memory_order_relaxed);
    return true;
}

} // namespace memtoll
