/* A malloc of its own of which there is a copy, as compilers make it: with a constant for its argument. */
#include "e2e.h"

static char memory[1 << 20];
static size_t used;

__attribute__((noinline)) void *malloc(size_t size) {
    char *block = memory + used;
    used += (size + 31) & ~(size_t)15;
    return block + 16;
}
__attribute__((noinline)) void free(void *block) { if (block) ((char *)block)[-1] = 1; }
void *calloc(size_t count, size_t size) { return malloc(count * size); }
void *realloc(void *block, size_t size) { (void)block; return malloc(size); }

void *copy(void) __asm__("malloc.constprop.0");
__attribute__((noipa)) void *copy(void) { STAY(); char *block = memory + used; used += 48; return block + 16; }

int main(void) {
    for (int i = 0; i < 5; ++i) keep(malloc(100));
#ifdef CALLED
    for (int i = 0; i < 9; ++i) free(copy());
#endif
    say("fine\n");
    return 0;
}
