// Call frame information: how to get from a frame to its caller, read from .eh_frame.
//
// Vocabulary (DWARF 5, section 6.4): the CFA (canonical frame address) of a frame is the stack pointer's value in the
// caller just before the call. A *row* tells, for one code address, how to compute the CFA and where each register of
// the caller was saved. A *rule* is the part of a row that ordinary code needs, in 16 bytes, for the cache.
//
// Made from: entries (cfi_entries), the instructions in them (cfi_instructions) and the expressions in those
// (cfi_expressions), all read through cfi_bytes.
//
// Everything here reads only inside the byte ranges it is given, never allocates, and answers damaged input with
// "no row": it runs inside the target, on whatever the target has loaded.
#pragma once

#include "../arch/arch.hpp"

namespace memtoll::unwind {

// Memory that may be read.
struct Range {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    bool holds(uintptr_t address, uintptr_t bytes) const {
        return address >= begin && address <= end && bytes <= end - address;
    }
};

// Where a module keeps its call frame information. Addresses are those in memory.
struct CfiSections {
    uintptr_t eh_frame_hdr = 0; // 0: the module has none
    Range header_range;         // the loaded segment around .eh_frame_hdr
    Range frame_range;          // the loaded segment around .eh_frame
};

// How one register of the caller is found.
struct RegisterRule {
    enum Kind : uint8_t { kSame, kUndefined, kAtCfa, kCfaPlus, kRegister, kAtExpression, kExpression };
    Kind kind = kSame;
    int64_t value = 0;       // offset from the CFA, or a register's number
    uintptr_t expression = 0; // address of a DWARF expression block (length first)
};

struct Row {
    uint8_t cfa_register = 0;
    bool signal_frame = false;    // the caller was interrupted, it did not call
    bool read_from_code = false;  // a guess (code_reading.hpp)
    bool other_stack = false;     // the caller may be on another stack, anywhere
    int64_t cfa_offset = 0;
    uintptr_t cfa_expression = 0; // 0: the CFA is cfa_register + cfa_offset
    RegisterRule registers[arch::kRegisterCount];
};

// The interpreter's working memory (cfi_scratch.hpp).
struct CfiScratch;

// Finds the row that applies to `address` (a return address minus one, or an interrupted instruction's) and leaves it
// in scratch.row. False when the module says nothing about that address, or says it wrongly.
bool find_row(const CfiSections& sections, uintptr_t address, CfiScratch& scratch);

// The same with a linear search of .eh_frame, as find_row does itself when .eh_frame_hdr has no search table.
bool find_row_linear(const CfiSections& sections, uintptr_t eh_frame, uintptr_t address, CfiScratch& scratch);

// Leaves the row of a signal handler's return in scratch.row, made by instructions of the processor's folder
// (arch::signal_return). Their code and data alignments are 1.
bool make_signal_row(arch::Instructions instructions, CfiScratch& scratch);

// A row in the form that the walker applies with a few instructions.
struct Rule {
    enum Cfa : uint8_t {
        kNoRule,     // nothing known: the walk ends here, truncated
        kNotCode,    // nor can code stand there: what was taken for a return address is none
        kStack,      // stack pointer + cfa_offset
        kFrame,      // frame pointer + cfa_offset
        kAtStack,    // the word at stack pointer + cfa_offset (signal frames)
        kAtFrame,    // the word at frame pointer + cfa_offset (realigned stacks)
        kEveryRegister, // needs registers that the quick walk does not follow
    };
    enum Saved : uint8_t {
        kUnchanged,
        kSavedAtCfa,   // at CFA + offset
        kSavedAtStack, // at stack pointer + offset
        kSavedAtFrame, // at frame pointer + offset
        kNoCaller,     // return address undefined: this is the thread's first frame
    };
    int32_t cfa_offset = 0;
    int32_t frame_pointer_offset = 0;
    int32_t return_offset = 0;
    Cfa cfa = kNoRule;
    Saved frame_pointer = kUnchanged;
    Saved return_address = kSavedAtCfa;
    bool signal_frame : 1 = false;
    bool read_from_code : 1 = false;
    bool other_stack : 1 = false;
};
static_assert(sizeof(Rule) == 16);

// `row` as a rule for code at `address`; kEveryRegister when the rule cannot say it.
Rule compress(const Row& row, uintptr_t address);

// Computes the caller's registers from `registers` in place. Reads memory through `read`, which says whether a word may
// be read. False when the row cannot be applied.
using ReadWord = bool (*)(void* context, uintptr_t address, uintptr_t& value);
bool apply(const Row& row, arch::Registers& registers, ReadWord read, void* context);

} // namespace memtoll::unwind
