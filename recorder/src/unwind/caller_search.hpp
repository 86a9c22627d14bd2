// Whether a hook was called by another one's real function: looks for the recorder's code among the callers.
#pragma once

#include "rule_cache.hpp"
#include "stack_memory.hpp"

namespace memtoll::unwind {

class CallerSearch {
public:
    // Whether the code is among the callers, and whether it was interrupted by a signal handler on this side of it.
    // kUnknown: it was not among those that could be followed.
    enum Found { kNo, kCaller, kInterrupted, kUnknown };

    [[gnu::noinline]] Found find(const arch::CallerFrame& caller, const Range& code, RuleCache& rules,
                                 const StackMemory& memory, uint32_t depth_limit);

    // Whether find() would say kCaller, because `caller` is `code` itself (operator delete jumps to free), or because it is
    // known from an earlier search and called by `code` itself (operator new calls malloc). False: it has to look.
    bool is_called_directly(const arch::CallerFrame& caller, const Range& code) const {
        if (code.holds(arch::code_address(caller.return_address) - 1, 1)) return true;
        const Direct& known = direct_[index(caller.return_address)];
        return known.return_address == caller.return_address &&
               code.holds(arch::code_address(word_at(caller.return_slot + known.distance)) - 1, 1);
    }

    void forget() {
        for (Direct& known : direct_) known = {};
    }

private:
    // Code whose frame has the same size whenever it makes the call that returns to `return_address`: the return address of
    // its own caller lies `distance` bytes above.
    struct Direct {
        uintptr_t return_address = 0;
        uintptr_t distance = 0;
    };
    static constexpr uint32_t kDirect = 8;
    static uint32_t index(uintptr_t return_address) { return (return_address >> 3) % kDirect; }

    Direct direct_[kDirect];
};

} // namespace memtoll::unwind
