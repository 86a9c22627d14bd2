/* A fiber as libraries make it: a switch in assembly, a stack from malloc, and a first return address into assembly without
 * unwinding information. */
#include "e2e.h"
#include <stdint.h>

__asm__(".text\n"
        "never_returned_to: ud2\n"
        ".globl switch_to\n.type switch_to,@function\nswitch_to:\n"
        " push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
        " mov %rsp,(%rdi)\n mov %rsi,%rsp\n"
        " pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n ret\n"
        ".size switch_to,.-switch_to\n");
extern void switch_to(void **save, void *to);
extern void never_returned_to(void) __attribute__((visibility("hidden")));

static void *main_stack;

SITE static void fiber_work(void) {
    for (int i = 0; i < 100; ++i) free(checked(malloc(10)));
    STAY();
}

static void entry(void) {
    void *own_stack;
    fiber_work();
    switch_to(&own_stack, main_stack);
}

int main(void) {
    char *stack = checked(malloc(1 << 20));
    void **top = (void **)(((uintptr_t)stack + (1 << 20) - 4096) & ~(uintptr_t)15);
    *--top = (void *)never_returned_to;
    *--top = (void *)entry;
    for (int i = 0; i < 6; ++i) *--top = NULL;
    switch_to(&main_stack, top);
    free(stack);
    printf("done\n");
    return 0;
}
