// The row of a call in code that has no unwind tables, read from the code itself.
//
// Functions leave the stack pointer where it was at their beginning. So the instructions from the call to a return tell how far
// the return address lies, and where the registers were saved that the function takes back before it returns.
//
// What follows a call that never returns is another function, and a return there no way out. It is told by its distance: the ABI
// wants the stack pointer to be a multiple of 16 at each call, which puts the return address 8 bytes beside one. Of the others,
// most ways decide.
//
// A way may lead through a table of jumps, where it is lost. A function without any other way that has local variables below the
// frame pointer is taken to keep one.
//
// Go calls C on another stack than a goroutine's (runtime.asmcgocall) and takes no frame pointer there: it is the goroutine's still.
//
// Such a row is a good guess: a walk believes it only if it leads to an address behind a call.
#pragma once

#include "../arch/instructions.hpp"
#include "cfi.hpp"

namespace memtoll::unwind {

// Whether a call can return to `address`.
bool follows_call(uintptr_t address);

class CodeReader {
public:
    struct Place {
        uintptr_t address;
        bool after_call; // a call returns there; else a signal struck
        bool in_file;    // else the program has generated the code
    };
    // The row of the instruction there. False if none is found.
    bool read(Place place, Row& row);
    // The row of code that keeps a frame pointer.
    static void follow_frame_pointer(Row& row);

private:
    // Where the stack pointer stands, from a register's value at `address`, and what has been taken back so far.
    struct Way {
        uintptr_t at = 0;
        bool from_frame = false; // the frame pointer's value, not the stack pointer's
        bool frees = false;      // the instruction before has taken back a part of the frame
        bool switched = false;   // to another stack
        bool loads_frame = false; // the frame pointer has been read from where it points to
        uint16_t restored = 0;   // registers, a bit each
        int64_t offset = 0;
        int64_t written = 0; // below, the way has put something on the stack itself
        int32_t saved[arch::kRegisterCount] = {};
    };
    struct Found {
        Way way;
        unsigned ways = 0;
    };

    bool read_ways(uintptr_t address, bool is_aligned, Row& row);
    static void make_row(const Way& way, Row& row);
    void follow();
    arch::Instruction instruction_at(uintptr_t address);
    bool is_at_return_address() const;
    bool ends_with_loaded_frame();
    bool is_function(uintptr_t target);
    bool has_frame_pointer() const;
    void arrive();
    bool is_new(uintptr_t target);
    bool count_from_frame(int64_t offset);
    bool restore(unsigned reg, int64_t offset);

    static constexpr unsigned kMostSteps = 4096;
    static constexpr unsigned kMostBranches = 64;
    static constexpr unsigned kMostFound = 8;
    static constexpr unsigned kSeen = 512;

    Way way_;
    Way branches_[kMostBranches]; // still to be taken
    unsigned branch_count_ = 0;
    Found found_[kMostFound];
    unsigned found_count_ = 0;
    uint32_t seen_[kSeen]; // branches taken, by their distance from the first instruction
    uintptr_t begin_ = 0;
    bool is_aligned_ = false; // the stack pointer at begin_
    bool is_in_file_ = false; // the code, which is not generated
    bool begins_after_call_ = false;
    unsigned uses_frame_ = 0;   // how many instructions use local variables below the frame pointer
    bool denies_frame_ = false; // it has no frame pointer
    bool switches_ = false;     // it returns on another stack, where the frame pointer may be
    unsigned steps_ = 0;
    // Code, copied: ways lead to and fro between a few places. An instruction may begin in one window and end in the next.
    struct Window {
        static constexpr size_t kBytes = 512;
        uintptr_t at = 0;
        size_t bytes = 0;
        uint8_t code[kBytes + arch::kLongestInstruction];
    };
    static constexpr unsigned kWindows = 8;
    Window windows_[kWindows];
};

} // namespace memtoll::unwind
