// A function that is inlined into what calls it and into what it calls.
#include <stdlib.h>

void *volatile kept;

static void again(int times);

__attribute__((always_inline)) static inline void step(int times) {
    free(kept = malloc(16));
    if (times > 0) again(times - 1);
    __asm__ volatile("");
}

__attribute__((noinline)) static void again(int times) {
    step(times);
    __asm__ volatile("");
}

int main(void) {
    step(3);
    return 0;
}
