// x86-64 Linux, System V psABI. arch.hpp says what is what.
#pragma once

#include <cstddef>
#include <cstdint>
#include <elf.h>
#include <sys/syscall.h>

namespace memtoll::arch {

inline constexpr bool kHasCounter = true;

// Time stamp counter, in ticks. Not serializing: neighbouring instructions may move across it by some tens of ns.
[[gnu::always_inline]] inline uint64_t ticks() { return __builtin_ia32_rdtsc(); }

// A hint to the processor inside a short spin.
[[gnu::always_inline]] inline void relax() { __builtin_ia32_pause(); }

// How many of Valgrind's virtual machines the process runs in: 0 on the processor itself, where these instructions do nothing.
// Valgrind documents them: rdi is rotated by 128 bits in all, then rbx is exchanged with itself; rax points to the request and
// its arguments, and the answer comes in rdx.
inline uint64_t valgrind_depth() {
    constexpr uint64_t kRunningOnValgrind = 0x1001;
    const uint64_t request[6] = {kRunningOnValgrind};
    uint64_t depth = 0;
    asm volatile("rolq $3, %%rdi\n\t"
                 "rolq $13, %%rdi\n\t"
                 "rolq $61, %%rdi\n\t"
                 "rolq $51, %%rdi\n\t"
                 "xchgq %%rbx, %%rbx"
                 : "+d"(depth)
                 : "a"(request)
                 : "cc", "memory");
    return depth;
}

// -- programs and libraries ------------------------------------------------------------------------------------------
inline constexpr uint16_t kElfMachine = EM_X86_64;
inline constexpr char kGlibcLoader[] = "ld-linux-x86-64.so.2";
inline constexpr char kMuslLoader[] = "ld-musl-x86_64.so.1"; // it is the C library, too

inline bool is_jump_slot(uint64_t relocation) { return relocation == R_X86_64_JUMP_SLOT; }
inline bool is_pointer(uint64_t relocation) {
    return is_jump_slot(relocation) || relocation == R_X86_64_GLOB_DAT || relocation == R_X86_64_64;
}

// -- system calls ----------------------------------------------------------------------------------------------------
// Returns the kernel's result: a negative errno in [-4095, -1] on failure.
[[gnu::always_inline]] inline long syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                                           long f = 0) {
    long result;
    register long r10 asm("r10") = d;
    register long r8 asm("r8") = e;
    register long r9 asm("r9") = f;
    asm volatile("syscall"
                 : "=a"(result)
                 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                 : "rcx", "r11", "memory");
    return result;
}

// Whether returns must go where calls came from. Kernels before 6.6 know no such thing.
inline bool has_shadow_stack() {
    constexpr long kStatus = 0x5005, kShadowStack = 1; // ARCH_SHSTK_STATUS, ARCH_SHSTK_SHSTK
    uint64_t features = 0;
    return syscall(SYS_arch_prctl, kStatus, reinterpret_cast<long>(&features)) == 0 && (features & kShadowStack);
}

// -- registers -------------------------------------------------------------------------------------------------------
// DWARF numbers (System V psABI for AMD64, figure 3.36). Only these take part in unwinding.
inline constexpr unsigned kRegisterCount = 17;
inline constexpr unsigned kFramePointer = 6;   // rbp
inline constexpr unsigned kStackPointer = 7;   // rsp
inline constexpr unsigned kReturnAddress = 16; // rip

// The caller's view of a hook at the instant it was called.
struct CallerFrame {
    uintptr_t return_slot;
    uintptr_t return_address;
    uintptr_t frame_pointer; // rbp

    // A call pushes the return address, and nothing lies between it and the caller's frame.
    [[gnu::always_inline]] uintptr_t stack_pointer() const { return return_slot + sizeof(uintptr_t); }
};

struct HookFrame {
    uintptr_t address; // rbp; the caller's rbp and the return address lie there
};

// Programs get away with calling malloc and free with a stack pointer that is no multiple of 16. The recorder's own code does,
// too: compiler_flags.txt keeps it from the registers whose places in memory must be multiples of 16.
#define MEMTOLL_ALIGNS_STACK [[gnu::force_align_arg_pointer]]

// Bytes below a frame's address in which a function saves the registers that calls preserve: rbx and r12 to r15.
inline constexpr uintptr_t kSavedBelowFrame = 5 * sizeof(uintptr_t);

// __builtin_frame_address(0) forces a frame pointer on the function.
#define MEMTOLL_FRAME() (::memtoll::arch::HookFrame{reinterpret_cast<uintptr_t>(__builtin_frame_address(0))})

[[gnu::always_inline]] inline CallerFrame caller_frame(HookFrame hook) {
    const auto* frame = reinterpret_cast<const uintptr_t*>(hook.address);
    return {reinterpret_cast<uintptr_t>(frame + 1), frame[1], frame[0]};
}

// The return slot tells where the stack pointer is.
[[gnu::always_inline]] inline uintptr_t position(uintptr_t return_slot, uintptr_t) { return return_slot; }
[[gnu::always_inline]] inline uintptr_t slot_of(uintptr_t position) { return position; }

// Return addresses are not signed.
[[gnu::always_inline]] inline uintptr_t code_address(uintptr_t return_address) { return return_address; }

// -- call frame information ------------------------------------------------------------------------------------------
constexpr bool is_signing(uint8_t) { return false; }

// The C library's return from signal handlers has call frame information.
template <class IsCode> Instructions signal_return(uintptr_t, IsCode) { return {}; }

// Words of the kernel's frame of a signal handler, from the return address on, that is_signal_frame() looks at.
inline constexpr size_t kSignalFrameWords = 25;

// Whether the words from a return address on a stack look like such a frame: flags, and a code segment of 64-bit programs.
inline bool is_signal_frame(const uintptr_t* words) {
    constexpr uintptr_t kFlagsEnd = 8, kSegment = 0xffff, kCode64 = 0x33;
    constexpr size_t kFlagsAt = 1, kCodeSegmentAt = 24;
    return words[kFlagsAt] < kFlagsEnd && (words[kCodeSegmentAt] & kSegment) == kCode64;
}

// Values of the registers that calls preserve, plus the instruction after the capture.
struct Registers {
    uintptr_t value[kRegisterCount];
};

// Fills in the registers that the psABI preserves across calls, at the point of use.
[[gnu::always_inline]] inline void capture_registers(Registers& out) {
    asm volatile("movq %%rbx, 24(%0)\n\t"
                 "movq %%rbp, 48(%0)\n\t"
                 "movq %%rsp, 56(%0)\n\t"
                 "movq %%r12, 96(%0)\n\t"
                 "movq %%r13, 104(%0)\n\t"
                 "movq %%r14, 112(%0)\n\t"
                 "movq %%r15, 120(%0)\n\t"
                 "leaq 0(%%rip), %%rax\n\t"
                 "movq %%rax, 128(%0)\n\t"
                 :
                 : "r"(out.value)
                 : "rax", "memory");
}

// What the entries of MEMTOLL_STUBS are apart.
inline constexpr size_t kStubBytes = 16;

} // namespace memtoll::arch

// Defines the exported function NAME, which calls BEFORE with NAME's own first arguments and then jumps to *NEXT.
// For functions that look at their return address (dlopen searches the RUNPATH of its caller): a forwarding call would
// make the recorder the caller. BEFORE takes up to four arguments and must not need NAME's stack arguments.
#define MEMTOLL_JUMP_THROUGH(NAME, BEFORE, NEXT) MEMTOLL_JUMP_AFTER(NAME, BEFORE, "", "*" #NEXT "(%rip)")
// The same, but jumps to what BEFORE returns.
#define MEMTOLL_JUMP_WHERE_TOLD(NAME, BEFORE) MEMTOLL_JUMP_AFTER(NAME, BEFORE, "  movq %rax, %r11\n", "*%r11")

// The exported function NAME, which calls FUNCTION on a stack of its own, that a thread with little of its own can run it. ORDER: a
// wire::AttachOrder. Nothing happens while another thread is at it.
#define MEMTOLL_ATTACH_ENTRY(NAME, FUNCTION, ORDER)                                                                     \
    asm(".pushsection .text\n"                                                                                          \
        ".globl " #NAME "\n"                                                                                            \
        ".type " #NAME ", @function\n" #NAME ":\n"                                                                      \
        "  endbr64\n"                                                                                                   \
        "  movl $1, %eax\n"                                                                                             \
        "  xchgl %eax, " #ORDER "+4(%rip)\n"                                                                            \
        "  testl %eax, %eax\n"                                                                                          \
        "  jnz 1f\n"                                                                                                    \
        "  xchgl %eax, " #ORDER "+8(%rip)\n"                                                                            \
        "  testl %eax, %eax\n"                                                                                          \
        "  jz 3f\n"                                                                                                     \
        "  pushq %rbx\n  pushq %rbp\n  movq %rsp, %rbp\n"                                                              \
        "  movl $9, %eax\n  xorl %edi, %edi\n  movl $0x40000, %esi\n  movl $3, %edx\n" /* mmap */                      \
        "  movl $0x22, %r10d\n  movq $-1, %r8\n  xorl %r9d, %r9d\n  syscall\n"                                        \
        "  movl $2, " #ORDER "+16(%rip)\n"                                                                              \
        "  cmpq $-4096, %rax\n"                                                                                         \
        "  ja 2f\n"                                                                                                     \
        "  movq %rax, %rbx\n"                                                                                           \
        "  leaq 0x40000(%rax), %rsp\n"                                                                                  \
        "  call " #FUNCTION "\n"                                                                                        \
        "  movl %eax, " #ORDER "+16(%rip)\n"                                                                            \
        "  movq %rbp, %rsp\n"                                                                                           \
        "  movl $11, %eax\n  movq %rbx, %rdi\n  movl $0x40000, %esi\n  syscall\n" /* munmap */                        \
        "2: popq %rbp\n  popq %rbx\n"                                                                                  \
        "  movl $1, " #ORDER "+12(%rip)\n"                                                                              \
        "3: movl $0, " #ORDER "+4(%rip)\n"                                                                               \
        "1: ret\n"                                                                                                      \
        ".size " #NAME ", . - " #NAME "\n"                                                                              \
        ".popsection")

#define MEMTOLL_JUMP_AFTER(NAME, BEFORE, KEEP, WHERE)                                                                   \
    asm(".pushsection .text\n"                                                                                          \
        ".globl " #NAME "\n"                                                                                            \
        ".type " #NAME ", @function\n" #NAME ":\n"                                                                      \
        ".cfi_startproc\n"                                                                                              \
        "  endbr64\n"                                                                                                   \
        "  pushq %rdi\n  .cfi_adjust_cfa_offset 8\n"                                                                    \
        "  pushq %rsi\n  .cfi_adjust_cfa_offset 8\n"                                                                    \
        "  pushq %rdx\n  .cfi_adjust_cfa_offset 8\n"                                                                    \
        "  pushq %rcx\n  .cfi_adjust_cfa_offset 8\n"                                                                    \
        "  pushq %r8\n  .cfi_adjust_cfa_offset 8\n"                                                                     \
        "  pushq %r9\n  .cfi_adjust_cfa_offset 8\n"                                                                     \
        "  subq $8, %rsp\n  .cfi_adjust_cfa_offset 8\n"                                                                 \
        "  call " #BEFORE "\n" KEEP                                                                                     \
        "  addq $8, %rsp\n  .cfi_adjust_cfa_offset -8\n"                                                                \
        "  popq %r9\n  .cfi_adjust_cfa_offset -8\n"                                                                     \
        "  popq %r8\n  .cfi_adjust_cfa_offset -8\n"                                                                     \
        "  popq %rcx\n  .cfi_adjust_cfa_offset -8\n"                                                                    \
        "  popq %rdx\n  .cfi_adjust_cfa_offset -8\n"                                                                    \
        "  popq %rsi\n  .cfi_adjust_cfa_offset -8\n"                                                                    \
        "  popq %rdi\n  .cfi_adjust_cfa_offset -8\n"                                                                    \
        "  jmp " WHERE "\n"                                                                                             \
        ".cfi_endproc\n"                                                                                                \
        ".size " #NAME ", . - " #NAME "\n"                                                                              \
        ".popsection\n")

// Defines memtoll_stubs_NAME: MEMTOLL_TABLES entries, kStubBytes apart. The nth jumps to TARGET with n in the place of a sixth argument.
#define MEMTOLL_STUBS(NAME, TARGET) MEMTOLL_STUBS_OF(NAME, TARGET, MEMTOLL_TABLES)
#define MEMTOLL_STUBS_OF(NAME, TARGET, COUNT) MEMTOLL_STUB_ROW("memtoll_stubs_" #NAME, #TARGET, COUNT)
#define MEMTOLL_STUB_ROW(ROW, TARGET, COUNT)                                                                            \
    asm(".pushsection .text\n"                                                                                          \
        ".balign 16\n"                                                                                                  \
        ".globl " ROW "\n"                                                                                              \
        ".hidden " ROW "\n"                                                                                             \
        ".hidden " TARGET "\n"                                                                                          \
        ".type " ROW ", @function\n" ROW ":\n"                                                                          \
        ".cfi_startproc\n"                                                                                              \
        ".set memtoll_stub_number, 0\n"                                                                                 \
        ".rept " #COUNT "\n"                                                                                            \
        ".balign 16\n"                                                                                                  \
        "  endbr64\n"                                                                                                   \
        "  movl $memtoll_stub_number, %r9d\n"                                                                           \
        "  jmp " TARGET "\n"                                                                                            \
        ".set memtoll_stub_number, memtoll_stub_number + 1\n"                                                           \
        ".endr\n"                                                                                                       \
        ".cfi_endproc\n"                                                                                                \
        ".size " ROW ", . - " ROW "\n"                                                                                  \
        ".popsection\n")
