/* Two fibers on stacks of their own take turns with main; one of the stacks is itself a block of the heap. */
#include "e2e.h"
#include <sys/mman.h>
#include <ucontext.h>

#define TURNS 500
#define STACK 65536

static ucontext_t main_context, contexts[2];

SITE static void first_work(void) { free(checked(malloc(10))); STAY(); }
SITE static void second_work(void) { free(checked(malloc(20))); STAY(); }
SITE static void main_work(void) { free(checked(malloc(30))); STAY(); }

SITE static void first_inner(void) {
    first_work();
    swapcontext(&contexts[0], &contexts[1]);
    first_work();
    STAY();
}
static void first(void) {
    for (;;) first_inner();
}
static void second(void) {
    for (;;) {
        second_work();
        swapcontext(&contexts[1], &main_context);
        second_work();
        swapcontext(&contexts[1], &contexts[0]);
    }
}

int main(void) {
    void *stacks[2] = {checked(malloc(STACK)), mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};
    void (*const entries[2])(void) = {first, second};
    for (int i = 0; i < 2; ++i) {
        getcontext(&contexts[i]);
        contexts[i].uc_stack.ss_sp = stacks[i];
        contexts[i].uc_stack.ss_size = STACK;
        makecontext(&contexts[i], entries[i], 0);
    }
    /* main -> first -> second -> main -> second -> first -> second -> main ... */
    for (int i = 0; i < TURNS; ++i) {
        main_work();
        swapcontext(&main_context, i == 0 ? &contexts[0] : &contexts[1]);
    }
    return 0;
}
