/* 30 blocks by assembly without unwind tables that leads nowhere: it keeps its return address out of its frame, where no reader of
 * the code finds it. 30 more by ordinary code. */
#include "e2e.h"

void hidden(void *(*function)(size_t), size_t size, void **block);
#ifdef __x86_64__
__asm__(".text\n"
        ".globl hidden\n"
        ".type hidden, @function\n"
        "hidden:\n"
        "  popq hidden_return(%rip)\n"
        "  movq %rsp, hidden_stack(%rip)\n"
        "  movq %rdx, hidden_block(%rip)\n"
        "  movq %rdi, %rax\n"
        "  movq %rsi, %rdi\n"
        "  andq $-16, %rsp\n"
        "  call *%rax\n"
        "  movq hidden_block(%rip), %rdx\n"
        "  movq %rax, (%rdx)\n"
        "  movq hidden_stack(%rip), %rsp\n"
        "  jmpq *hidden_return(%rip)\n"
        ".size hidden, . - hidden\n"
        ".local hidden_return, hidden_stack, hidden_block\n"
        ".comm hidden_return, 8, 8\n"
        ".comm hidden_stack, 8, 8\n"
        ".comm hidden_block, 8, 8\n"
        ".section .note.GNU-stack, \"\", @progbits\n"
        ".text\n");
#endif

SITE static void ordinary(void) {
    for (int i = 0; i < 30; ++i) free(checked(malloc(10)));
    STAY();
}

int main(void) {
    for (int i = 0; i < 30; ++i) {
        void *block;
        hidden(malloc, 20, &block);
        free(checked(block));
    }
    ordinary();
    return 0;
}
