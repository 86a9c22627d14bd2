// One step outwards: from a frame to its caller, with the few registers that ordinary code needs.
#pragma once

#include "cfi.hpp"
#include "stack_memory.hpp"

namespace memtoll::unwind {

// Where a walk stands.
struct Position {
    uintptr_t return_slot;
    uintptr_t return_address; // the word there
    uintptr_t frame_pointer;
    uintptr_t stack_pointer;
    bool interrupted = false; // return_address is where a signal struck

    explicit Position(const arch::CallerFrame& caller)
        : return_slot(caller.return_slot), return_address(caller.return_address), frame_pointer(caller.frame_pointer),
          stack_pointer(caller.stack_pointer()) {}

    // The call, or the interrupted instruction.
    uintptr_t code() const { return arch::code_address(return_address) - (interrupted ? 0 : 1); }

    // An address on the frame's stack. That of an interrupted frame is another one than its return slot's perhaps, and ends
    // with its stack pointer if nothing lies on it yet.
    uintptr_t on_stack() const { return interrupted ? stack_pointer - 1 : return_slot; }
};

// The words that decided a step; 0: none was read.
struct WordsRead {
    uintptr_t cfa = 0;           // where the CFA was read, 0: computed
    uintptr_t frame_pointer = 0; // where the caller's frame pointer was saved, 0: unchanged
};

// kBadFrame: the rule leads to memory that cannot be read, or downwards. kPastStack: the stack has no further frame.
enum class Stepped { kToCaller, kBadFrame, kPastStack };

[[gnu::always_inline]] inline Stepped cannot_step(Reach reach) {
    return reach == Reach::kPastStack ? Stepped::kPastStack : Stepped::kBadFrame;
}

// Moves `at` to the caller.
[[gnu::always_inline]] inline Stepped step(const Rule& rule, const StackMemory& memory, Position& at, WordsRead& read) {
    read = {};
    const bool from_frame = rule.cfa == Rule::kFrame || rule.cfa == Rule::kAtFrame;
    const uintptr_t base = from_frame ? at.frame_pointer : at.stack_pointer;
    const auto reach = [&](uintptr_t word, uintptr_t known_good) {
        return memory.reach(word, {known_good, at.on_stack(), base});
    };
    uintptr_t cfa = base + static_cast<uintptr_t>(intptr_t{rule.cfa_offset});
    if (rule.cfa == Rule::kAtFrame || rule.cfa == Rule::kAtStack) {
        const Reach found = reach(cfa, at.return_slot);
        if (found != Reach::kReadable) return cannot_step(found);
        read.cfa = cfa;
        cfa = word_at(cfa);
    }
    // Stacks grow downwards: a caller's frame lies above its callee's, except across a signal frame, where the handler
    // may have run on a stack of its own, and where code switches stacks.
    if (!rule.signal_frame && !rule.other_stack && cfa < at.stack_pointer) return Stepped::kBadFrame;
    auto place = [&](Rule::Saved saved, int32_t offset) {
        const uintptr_t base = saved == Rule::kSavedAtCfa     ? cfa
                               : saved == Rule::kSavedAtStack ? at.stack_pointer
                                                              : at.frame_pointer;
        return base + static_cast<uintptr_t>(intptr_t{offset});
    };
    const uintptr_t slot = place(rule.return_address, rule.return_offset);
    if (const Reach found = reach(slot, at.return_slot); found != Reach::kReadable) return cannot_step(found);
    if (rule.frame_pointer != Rule::kUnchanged) {
        const uintptr_t word = place(rule.frame_pointer, rule.frame_pointer_offset);
        if (const Reach found = reach(word, slot); found != Reach::kReadable) return cannot_step(found);
        read.frame_pointer = word;
        at.frame_pointer = word_at(word);
    }
    at.stack_pointer = cfa;
    at.return_slot = slot;
    at.return_address = word_at(slot);
    at.interrupted = rule.signal_frame;
    return Stepped::kToCaller;
}

} // namespace memtoll::unwind
