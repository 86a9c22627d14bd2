// Everything in the recorder that depends on the processor and its ABI. A port is one more folder here, whose processor.hpp
// provides, in memtoll::arch:
//
//   ticks()                   a counter that runs at a steady rate on all cores; kHasCounter says whether there is one
//   relax()                   a hint inside a short spin
//   valgrind_depth()          how many of Valgrind's machines the process runs in
//   syscall()                 raw system calls, which touch no errno and pass through no hook
//   kRegisterCount, kFramePointer, kStackPointer, kReturnAddress
//                             DWARF's numbers of the registers that take part in unwinding
//   CallerFrame, caller_frame()
//                             the caller's view of a hook at the instant it was called
//   Registers, capture_registers()
//                             the registers that calls preserve, at the point of use
//   kElfMachine, kLoader      whose programs the recorder can go along with: e_machine, and the name of glibc's loader
//   is_jump_slot(), is_pointer()
//                             relocations of a function's address: one that may be bound late, and any
//
// and the macro MEMTOLL_JUMP_THROUGH(NAME, BEFORE, NEXT), a function that calls BEFORE with its own first arguments and then
// jumps to *NEXT. The unwinder takes it that stacks grow downwards, words have 8 bytes and a call leaves its return address
// in memory, directly below the caller's frame: where it stays in a register, unwind/step.hpp needs to know of it.
//
// Sizes of pages are asked of the kernel (kernel::page_bytes()), times are in ns (clock.hpp).
#pragma once

#if defined(__x86_64__) && defined(__linux__)
#include "x86_64/processor.hpp"
#else
#error "the recorder runs on x86-64 Linux; another architecture needs a folder of its own in recorder/src/arch"
#endif
