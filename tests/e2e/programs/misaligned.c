/* Calls of the C library with a stack pointer that is no multiple of 16, as assembly and old compilers make them: from the main
 * thread, in a thread whose first call it is, in a forked child, and after code has come and gone. glibc answers these. */
#include "e2e.h"
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>

/* Calls `function` with the stack pointer 8 bytes off. */
uintptr_t off_by_8(uintptr_t function, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e);
#ifdef __x86_64__
__asm__(".text\n"
        ".globl off_by_8\n"
        ".type off_by_8, @function\n"
        "off_by_8:\n"
        "  .cfi_startproc\n"
        "  pushq %rbp\n  .cfi_adjust_cfa_offset 8\n  .cfi_offset %rbp, -16\n"
        "  movq %rsp, %rbp\n  .cfi_def_cfa_register %rbp\n"
        "  subq $8, %rsp\n"
        "  movq %rdi, %rax\n  movq %rsi, %rdi\n  movq %rdx, %rsi\n  movq %rcx, %rdx\n  movq %r8, %rcx\n  movq %r9, %r8\n"
        "  xorl %r9d, %r9d\n"
        "  call *%rax\n"
        "  leave\n  .cfi_def_cfa %rsp, 8\n"
        "  ret\n"
        "  .cfi_endproc\n"
        ".size off_by_8, . - off_by_8\n"
        ".section .note.GNU-stack, \"\", @progbits\n"
        ".text\n");
#endif

static uintptr_t call(void *function, uintptr_t a, uintptr_t b, uintptr_t c) {
    return off_by_8((uintptr_t)function, a, b, c, 0, 0);
}
static void *block_of(uintptr_t address) { return checked((void *)address); }

/* Five new blocks. */
static void all_calls(void) {
    void *block = block_of(call(malloc, 24, 0, 0));
    block = block_of(call(realloc, (uintptr_t)block, 5000, 0));
    block = block_of(call(reallocarray, (uintptr_t)block, 100, 10));
    call(free, (uintptr_t)block, 0, 0);
    call(free, (uintptr_t)block_of(call(calloc, 3, 8, 0)), 0, 0);
    call(free, (uintptr_t)block_of(call(aligned_alloc, 64, 64, 0)), 0, 0);
    if (call(posix_memalign, (uintptr_t)&block, 64, 100)) _exit(92);
    call(free, (uintptr_t)block, 0, 0);
    call(free, (uintptr_t)block_of(call(memalign, 64, 100, 0)), 0, 0);
    const uintptr_t map = off_by_8((uintptr_t)mmap, 0, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, (uintptr_t)-1);
    if (map == (uintptr_t)MAP_FAILED || call(munmap, map, 4096, 0)) _exit(93);
    STAY();
}

SITE static void main_work(void) {
    for (int i = 0; i < 500; ++i) all_calls();
    STAY();
}
SITE static void thread_work(void) {
    all_calls();
    STAY();
}
SITE static void child_work(void) {
    all_calls();
    STAY();
}
SITE static void after_load(void) {
    all_calls();
    STAY();
}

static void *thread(void *unused) {
    call(free, 0, 0, 0); /* glibc's malloc makes more of a thread's first call than the processor then allows */
    free(checked(malloc(1)));
    thread_work();
    return unused;
}

/* Each call comes along another way. */
SITE static void ways_down(unsigned way, int left) {
    if (left == 0) return main_work();
    if (way & 1) ways_down(way >> 1, left - 1);
    else ways_down(way >> 1, left - 1);
    STAY();
}

int main(void) {
    for (unsigned way = 0; way < 64; ++way) ways_down(way, 6);
    say("main\n");
    pthread_t started;
    if (pthread_create(&started, NULL, thread, NULL) || pthread_join(started, NULL)) _exit(94);
    say("thread\n");
    const pid_t child = fork();
    if (child == 0) {
        child_work();
        _exit(0);
    }
    int status = -1;
    if (waitpid(child, &status, 0) != child || status != 0) _exit(95);
    say("child\n");
    void *const library = dlopen("libm.so.6", RTLD_NOW);
    if (!library) _exit(96);
    after_load();
    dlclose(library);
    after_load();
    say("after a library\n");
    return 0;
}
