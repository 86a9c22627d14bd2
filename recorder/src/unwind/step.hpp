// One step outwards: from a frame to its caller, with the few registers that ordinary code needs.
#pragma once

#include "cfi.hpp"
#include "stack_memory.hpp"

namespace memtoll::unwind {

// Where a walk stands.
struct Position {
    uintptr_t return_slot;
    uintptr_t return_address;
    uintptr_t frame_pointer;
    uintptr_t stack_pointer;
    bool interrupted = false; // return_address is where a signal struck

    explicit Position(const arch::CallerFrame& caller)
        : return_slot(caller.return_slot), return_address(caller.return_address), frame_pointer(caller.frame_pointer),
          stack_pointer(caller.return_slot + sizeof(uintptr_t)) {}

    // The call, or the interrupted instruction.
    uintptr_t code() const { return interrupted ? return_address : return_address - 1; }
};

// The words that decided a step; 0: none was read.
struct WordsRead {
    uintptr_t cfa = 0;           // where the CFA was read, 0: computed
    uintptr_t frame_pointer = 0; // where the caller's frame pointer was saved, 0: unchanged
};

// Moves `at` to the caller. False if the rule leads to memory that cannot be read, or downwards.
[[gnu::always_inline]] inline bool step(const Rule& rule, const StackMemory& memory, Position& at, WordsRead& read) {
    read = {};
    const bool from_frame = rule.cfa == Rule::kFrame || rule.cfa == Rule::kAtFrame;
    uintptr_t cfa =
        (from_frame ? at.frame_pointer : at.stack_pointer) + static_cast<uintptr_t>(intptr_t{rule.cfa_offset});
    if (rule.cfa == Rule::kAtFrame || rule.cfa == Rule::kAtStack) {
        if (!memory.may_read(cfa, at.return_slot)) return false;
        read.cfa = cfa;
        cfa = word_at(cfa);
    }
    // Stacks grow downwards: a caller's frame lies above its callee's, except across a signal frame, where the handler
    // may have run on a stack of its own.
    if (!rule.signal_frame && cfa < at.stack_pointer) return false;
    auto place = [&](Rule::Saved saved, int32_t offset) {
        const uintptr_t base = saved == Rule::kSavedAtCfa     ? cfa
                               : saved == Rule::kSavedAtStack ? at.stack_pointer
                                                              : at.frame_pointer;
        return base + static_cast<uintptr_t>(intptr_t{offset});
    };
    const uintptr_t slot = place(rule.return_address, rule.return_offset);
    if (!memory.may_read(slot, at.return_slot)) return false;
    if (rule.frame_pointer != Rule::kUnchanged) {
        const uintptr_t word = place(rule.frame_pointer, rule.frame_pointer_offset);
        if (!memory.may_read(word, slot)) return false;
        read.frame_pointer = word;
        at.frame_pointer = word_at(word);
    }
    at.stack_pointer = cfa;
    at.return_slot = slot;
    at.return_address = word_at(slot);
    at.interrupted = rule.signal_frame;
    return true;
}

} // namespace memtoll::unwind
