// Evaluates the expressions of call frame information (DWARF 5 section 2.5). Inside unwind/ only.
#pragma once

#include "cfi.hpp"

namespace memtoll::unwind {

// A value on the expression's stack. Without actual registers it may stay symbolic: register + offset, or the word at
// that address.
struct Value {
    enum Kind : uint8_t { kNumber, kRegisterPlus, kWordAt };
    Kind kind = kNumber;
    uint8_t reg = 0;
    int64_t number = 0; // the number, or the offset
};

struct Memory {
    ReadWord read;
    void* context;
};

// Evaluates the block at `block`. With `registers`, registers and memory have values; without, only the instruction
// pointer does (`address`). `initial` is pushed first when given (rules start with the CFA on the stack).
bool evaluate(uintptr_t block, uintptr_t address, const arch::Registers* registers, const Memory* memory,
              const Value* initial, Value& result);

} // namespace memtoll::unwind
