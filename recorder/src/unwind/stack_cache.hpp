// Call stacks of one thread, found fast: tries the prediction table (method 2, prediction.hpp), then walks frames from
// the inside outwards until the rest is the same as last time (method 1).
//
// Made from: what may be read of the stack (stack_memory), the rules of code addresses (rule_cache), one step outwards
// (step), the image of the last stack (last_stack), the walk with all registers (full_walk) and the search for a caller
// (caller_search).
#pragma once

#include "caller_search.hpp"
#include "last_stack.hpp"
#include "prediction.hpp"

namespace memtoll::unwind {

class StackCache {
public:
    // `owner` is handed to `announce` with each module that is met for the first time. `take` is asked before more of the
    // memory is used than an ordinary thread needs.
    void start(StackTree* tree, uint32_t depth_limit, AnnounceModule announce, void* owner, Take take);

    // Bytes of zeroed memory that start() needs at `memory`.
    static size_t memory_bytes(uint32_t depth_limit);
    void* memory = nullptr;

    // The thread that the cache serves has changed, and with it the stack. `stack_end`: an address at or above the
    // thread's first frame, on the same mapping. For the main thread: where the kernel had it begin.
    void set_stack_end(StackEnd stack_end);

    // Code was unloaded: nothing that is remembered about addresses holds any longer.
    void forget_code();

    // What the stack that `caller` is the innermost frame of may be. Asked for some time before the node itself, it hides
    // the time that memory takes to answer.
    [[gnu::always_inline]] Prediction::Guess guess(const arch::CallerFrame& caller) const {
        const uintptr_t room = memory_.own_above(caller.return_slot);
        return room != 0 ? prediction_.guess(caller, room) : Prediction::kNoLeaf;
    }

    // The stack's node. Never kNoStack.
    [[gnu::always_inline]] uint32_t node(const arch::CallerFrame& caller, Prediction::Guess guess) {
        uint32_t known;
        if (prediction_.find(guess, caller, memory_.own_above(caller.return_slot), known)) [[likely]]
            return known;
        return walk(caller);
    }
    [[gnu::always_inline]] uint32_t node(const arch::CallerFrame& caller) { return node(caller, guess(caller)); }

    // See CallerSearch.
    CallerSearch::Found find_caller_in(const arch::CallerFrame& caller, const Range& code) {
        return search_.find(caller, code, rules_, memory_, depth_limit_);
    }
    bool is_called_directly(const arch::CallerFrame& caller, const Range& code) const {
        return search_.is_called_directly(caller, code);
    }

    // Method 1 alone. Also what node() falls back to.
    [[gnu::noinline]] uint32_t walk(arch::CallerFrame caller);

    uint64_t walks = 0;
    uint64_t walked_frames = 0;
    uint32_t full_walks = 0;
    uint32_t rule_misses() const { return rules_.misses; }

private:
    // What a walk found.
    struct Walk {
        uint32_t kept = 0;  // frames of the image that stand as they were, the outermost ones
        uint32_t fresh = 0; // frames inside of these, in fresh_ from the innermost outwards
        uint32_t root = wire::kRootComplete;
        bool one_stack = true;       // no signal frame: all frames lie on one stack
        bool every_register = false; // the last frame cannot be left without knowing all registers
    };

    Walk find_new_frames(const arch::CallerFrame& caller);
    bool leads_to_caller(uint16_t module, const Position& at, Rule& rule);
    void note_own_stack(uintptr_t low, const Walk& walk);
    uint32_t walk_fully(const arch::CallerFrame& caller);
    uint32_t walk_afresh(const arch::CallerFrame& caller);
    void learn(const arch::CallerFrame& caller, const LastStack::Frame& innermost);

    StackMemory memory_;
    Prediction prediction_;
    LastStack last_;
    RuleCache rules_;
    CallerSearch search_;
    StackTree* tree_ = nullptr;
    uint32_t depth_limit_ = 0;
    NewFrame* fresh_ = nullptr;
    uint32_t* seen_once_ = nullptr;
};

} // namespace memtoll::unwind
