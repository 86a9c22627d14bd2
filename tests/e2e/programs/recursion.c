// Functions that call themselves, one of them through another, and a place that two functions lead to.
#include <stdlib.h>

void *volatile kept;

__attribute__((noinline)) static void leaf(int blocks) {
    for (int at = 0; at < blocks; at++) free(kept = malloc(24));
}

static void visit(int depth);

__attribute__((noinline)) static void walk(int depth) {
    free(kept = malloc(48));
    if (depth > 0) visit(depth - 1);
    else leaf(10);
    __asm__ volatile("");
}

__attribute__((noinline)) static void visit(int depth) {
    free(kept = malloc(32));
    walk(depth);
    __asm__ volatile("");
}

int main(void) {
    walk(4);
    leaf(7);
    return 0;
}
