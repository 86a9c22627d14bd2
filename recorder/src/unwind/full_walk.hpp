// The walk with all registers, for stacks with frames that need one which the others do without. Rare, and slow.
#pragma once

#include "last_stack.hpp"

namespace memtoll::unwind {

struct FullWalk {
    uint32_t count; // of keys, from the innermost frame outwards
    uint32_t root;  // how the stack ends
};

// Puts the keys of the stack that `caller` is the innermost frame of into `frames`, at most `limit`.
[[gnu::noinline]] FullWalk walk_every_register(const arch::CallerFrame& caller, RuleCache& rules, const StackMemory& memory,
                                               NewFrame* frames, uint32_t limit);

} // namespace memtoll::unwind
