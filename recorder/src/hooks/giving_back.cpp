#include "giving_back.hpp"

#include "../kernel.hpp"
#include "scope.hpp"

namespace memtoll {

void before_giving_back(arch::HookFrame frame) {
    // Without the recorder's arena there is no supervisor either.
    HookScope scope(frame);
    if (!scope) return;
    scope.no_call();
    const uint64_t above = session.arena->look_above_kib.load(std::memory_order_relaxed);
    if (above != 0 && kernel::largest_resident_set_kib() >= above) await_look_before_giving_back();
}

} // namespace memtoll
