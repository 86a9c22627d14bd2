#include "caller_search.hpp"

#include "step.hpp"

namespace memtoll::unwind {

CallerSearch::Found CallerSearch::find(const arch::CallerFrame& caller, const Range& code, RuleCache& rules,
                                       const StackMemory& memory, uint32_t depth_limit) {
    Position at(caller);
    bool in_handler = false, fixed_sizes = true;
    Known way{caller.return_address, 0, {}};
    for (uint32_t i = 0; i < depth_limit; ++i) {
        if (code.holds(at.code(), 1)) {
            if (in_handler) return kInterrupted;
            if (i > 0 && i == way.callers && fixed_sizes) known_[index(caller.return_address)] = way;
            return kCaller;
        }
        const Rule rule = rules[at.code()].rule;
        if (rule.cfa == Rule::kNotCode && i > 0 && !at.interrupted) return kNo;
        if (rule.cfa == Rule::kNoRule || rule.cfa == Rule::kNotCode || rule.cfa == Rule::kEveryRegister) break;
        if (rule.return_address == Rule::kNoCaller) return kNo;
        WordsRead read;
        const Stepped stepped = step(rule, memory, at, read);
        if (stepped == Stepped::kPastStack) return kNo;
        if (stepped == Stepped::kBadFrame) break;
        fixed_sizes &= rule.cfa == Rule::kStack && rule.return_address == Rule::kSavedAtCfa;
        if (way.callers < kMostCallers) way.caller[way.callers++] = {at.return_slot - caller.return_slot, at.return_address};
        if (at.return_address == 0) return kNo;
        in_handler |= at.interrupted;
    }
    return kUnknown;
}

} // namespace memtoll::unwind
