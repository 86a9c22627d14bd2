// Everything in the recorder that depends on the processor and its ABI. A port is one more folder here, whose processor.hpp
// provides, in memtoll::arch:
//
//   ticks()                   a counter that runs at a steady rate on all cores; kHasCounter says whether there is one
//   relax()                   a hint inside a short spin
//   valgrind_depth()          how many of Valgrind's machines the process runs in
//   syscall()                 raw system calls, which touch no errno and pass through no hook
//   kRegisterCount, kFramePointer, kStackPointer, kReturnAddress
//                             DWARF's numbers of the registers that take part in unwinding. Where calls leave the return
//                             address in a register, kReturnAddress is another one: the program counter
//   HookFrame                 where a hook's frame lies: `address`, on its stack, and what else caller_frame() needs
//   kSavedBelowFrame          bytes below a frame's address in which a function saves the registers that calls preserve
//   CallerFrame, caller_frame()
//                             the caller's view of a hook at the instant it was called: return_slot (where the hook has
//                             saved its return address), return_address (the word there), frame_pointer, stack_pointer()
//   position(), slot_of()     a number that tells two frames of one call apart: its return slot, and the caller's stack pointer
//                             where that does not follow from it, as it does not if a callee may save its return address
//                             anywhere in its frame; and the return slot in it
//   code_address()            a return address without what a processor keeps in unused bits, such as a signature
//   is_signing()              whether a processor's own instruction of call frame information, without operands, says that
//                             return addresses are signed: code_address() takes care of that
//   signal_return()           where the return from signal handlers has no call frame information: instructions that say what
//                             it would say, and none for other code. Whether an address is code's is asked, as it may be none
//   kSignalFrameWords, is_signal_frame()
//                             whether words of a stack look like the kernel's frame of a signal handler
//   has_shadow_stack()        whether the processor keeps return addresses of this thread itself, too, and compares them
//   Registers, capture_registers()
//                             the registers that calls preserve, at the point of use
//   kElfMachine               whose programs the recorder can go along with: e_machine
//   kGlibcLoader, kMuslLoader and the names of the loaders of the C libraries
//   is_jump_slot(), is_pointer()
//                             relocations of a function's address: one that may be bound late, and any
//
// and the macros
//
//   MEMTOLL_ALIGNS_STACK      before a function that may be called with a stack pointer that breaks the ABI, because the program
//                             has called a hook with it, and that calls the C library
//   MEMTOLL_FRAME()           the HookFrame of the function in which it stands, or into which that is inlined
//   MEMTOLL_JUMP_THROUGH(NAME, BEFORE, NEXT)
//                             a function that calls BEFORE with its own first arguments and then jumps to *NEXT
//   MEMTOLL_JUMP_WHERE_TOLD(NAME, BEFORE)
//                             the same, but jumps to what BEFORE returns
//   MEMTOLL_ATTACH_ENTRY(NAME, FUNCTION, ORDER)
//                             a function that calls FUNCTION on a stack of its own, and says in ORDER how that went
//   MEMTOLL_STUBS(NAME, TARGET)
//                             memtoll_stubs_NAME, a row of MEMTOLL_TABLES entries that are kStubBytes apart; the nth jumps to
//                             TARGET with n in the place of a sixth argument
//
// and compiler_flags.txt, with flags for the recorder's code, a line each.
//
// The unwinder takes it that stacks grow downwards, words have 8 bytes, and a function that calls another one has saved its
// return address in memory. Sizes of pages are asked of the kernel (kernel::page_bytes()), times are in ns (clock.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtoll::arch {

// Instructions of call frame information.
struct Instructions {
    const uint8_t* bytes = nullptr;
    size_t count = 0; // 0: none
};

} // namespace memtoll::arch

#if defined(__x86_64__) && defined(__linux__)
#include "x86_64/processor.hpp"
#else
#error "another processor or system needs a folder of its own in recorder/src/arch"
#endif
