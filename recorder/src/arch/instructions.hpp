// What instructions do to the stack, for code without unwind tables. A port's instructions.hpp provides, in memtoll::arch,
//
//   Instruction               what one of them does to the stack pointer
//   read_instruction()        reads one
//   is_preserved()            whether calls preserve a register
//   ends_with_call()          whether the last of kLongestCall bytes can be a call
//   kLongestInstruction       in bytes
#pragma once

#if defined(__x86_64__)
#include "x86_64/instructions.hpp"
#else
#error "another processor needs a folder of its own in recorder/src/arch"
#endif
