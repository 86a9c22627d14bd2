// A function whose name is an escape sequence that sets a terminal's title.
#include <stdlib.h>

void *hostile(size_t size) __asm__("\"\033]0;owned\007\"");

__attribute__((noinline)) void *hostile(size_t size) {
    void *block = malloc(size);
    __asm__ volatile("" : : "r"(block) : "memory");
    return block;
}

int main(void) {
    free(hostile(100));
    return 0;
}
