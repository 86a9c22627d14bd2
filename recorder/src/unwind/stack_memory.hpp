// Which words of a thread's stack may be read.
//
// On the thread's own stack everything from the lowest stack pointer seen to its end can be read. Elsewhere (fibers,
// alternate signal stacks) words are read strictly from the inside outwards, and the kernel is asked before each step onto
// another page. A stack does not reach beyond the mapping that it lies in.
#pragma once

#include "../wire.hpp"

#include <cstdint>

namespace memtoll::unwind {

inline uintptr_t word_at(uintptr_t address) { return *reinterpret_cast<const uintptr_t*>(address); }

// Whether a word of a stack can be read. kPastStack: it lies beyond the mapping that the stack lies in, so the stack has ended.
enum class Reach { kReadable, kUnreadable, kPastStack };

// What led to a word.
struct Lead {
    uintptr_t known_good; // a word that can be read
    uintptr_t on_stack;   // an address on the frame's stack
    uintptr_t base;       // the register's value that the word's address was computed from
};

// Where a thread's stack begins, at its high end.
struct StackEnd {
    // At or above the thread's first frame, on the same mapping. For the main thread: where the kernel had it begin.
    uintptr_t address = 0;
    // Code without rules whose frame ends at most this far below is the C library's, and starts the thread.
    uint32_t first_frames = 0;
};

class StackMemory {
public:
    // Another thread's stack. False if it is the one that was known already.
    bool set_end(StackEnd end) {
        if (end.address == end_) return false;
        *this = StackMemory{};
        end_ = end.address;
        first_frames_ = end.first_frames;
        return true;
    }

    // Whether `address` lies on the part of the thread's own stack that is known so far.
    bool is_own(uintptr_t address) const { return address - low_ < bytes_; }

    // How many bytes of that part lie above an address, 0 if it does not lie there.
    [[gnu::always_inline]] uintptr_t own_above(uintptr_t address) const {
        const uintptr_t below = address - low_;
        return below < bytes_ ? bytes_ - below : 0;
    }

    // Whether the word at `word` may be read.
    [[gnu::always_inline]] Reach reach(uintptr_t word, const Lead& lead) const {
        if ((word & (sizeof(uintptr_t) - 1)) != 0) return Reach::kUnreadable;
        return is_own(word) ? Reach::kReadable : reach_elsewhere(word, lead);
    }

    // How a stack ends at code without a rule. `in_file`: of a loaded file.
    uint32_t root_without_rule(uintptr_t stack_pointer, bool in_file) const;

    // A walk from `low` went through the whole stack, whose outermost return address stands at `last`.
    void saw_all(uintptr_t low, uintptr_t last);
    // A walk from `low` met a frame at `met` of an earlier walk that had gone to `last`.
    void saw_part(uintptr_t low, uintptr_t met, uintptr_t last);

private:
    Reach reach_elsewhere(uintptr_t word, const Lead& lead) const;
    bool is_near_own(uintptr_t word, uintptr_t known_good) const;

    uintptr_t low_ = 0;
    uintptr_t bytes_ = 0; // 0 until the thread's own stack is known
    uintptr_t end_ = 0;
    uintptr_t first_frames_ = 0;
};

} // namespace memtoll::unwind
