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
    // known from an earlier search and called by the same functions again, of which `code` called the first (operator new calls
    // malloc; an allocator's realloc a function that calls its malloc). False: it has to look.
    bool is_called_directly(const arch::CallerFrame& caller, const Range& code) const {
        if (code.holds(arch::code_address(caller.return_address) - 1, 1)) return true;
        const Known& known = known_[index(caller.return_address)];
        if (known.return_address != caller.return_address) return false;
        // Where the next word lies follows from the function that the one before it returns to.
        const uint32_t last = known.callers - 1;
        for (uint32_t i = 0; i < last; ++i)
            if (word_at(caller.return_slot + known.caller[i].distance) != known.caller[i].return_address) return false;
        return code.holds(arch::code_address(word_at(caller.return_slot + known.caller[last].distance)) - 1, 1);
    }

    void forget() {
        for (Known& known : known_) known = {};
    }

private:
    // Callers whose frames have the same size whenever they make these calls: their return addresses lie `distance` bytes above
    // that of the code that returns to `return_address`. The last one is the recorder's.
    struct Caller {
        uintptr_t distance = 0;
        uintptr_t return_address = 0;
    };
    static constexpr uint32_t kMostCallers = 4;
    struct Known {
        uintptr_t return_address = 0;
        uint32_t callers = 1;
        Caller caller[kMostCallers];
    };
    static constexpr uint32_t kKnown = 8;
    static uint32_t index(uintptr_t return_address) { return (return_address >> 3) % kKnown; }

    Known known_[kKnown];
};

} // namespace memtoll::unwind
