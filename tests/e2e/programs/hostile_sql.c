// A function whose name is SQL.
#include <stdlib.h>

void *hostile(size_t size) __asm__("\"x';DROP/**/TABLE/**/sites;--?\\\\%s\"");

__attribute__((noinline)) void *hostile(size_t size) {
    void *block = malloc(size);
    __asm__ volatile("" : : "r"(block) : "memory");
    return block;
}

int main(void) {
    free(hostile(100));
    return 0;
}
