/* own_heap: an executable with a heap of its own, which gives addresses out again, and a library whose blocks it frees
 * (lib_for_heap.c). Nothing is live at the end. */
#include "e2e.h"

static char memory[64 << 20];
static size_t used;
static void *free_blocks[4096];

void *malloc(size_t size) {
    const size_t whole = (size + 31) & ~(size_t)15, index = whole / 16;
    if (index < 4096 && free_blocks[index]) {
        void *block = free_blocks[index];
        free_blocks[index] = *(void **)block;
        return block;
    }
    char *block = memory + used;
    used += whole;
    *(size_t *)block = whole;
    return block + 16;
}
#ifdef IMMOVABLE
/* Something jumps to its second byte: no jump can be put over it. */
__asm__(".globl free\n.type free, @function\nfree: nop\n1: jmp free_block\njmp 1b\n.size free, . - free\n");
void free_block(void *block);
void free_block(void *block) {
#else
void free(void *block) {
#endif
    if (!block) return;
    const size_t index = *(size_t *)((char *)block - 16) / 16;
    if (index >= 4096) return;
    *(void **)block = free_blocks[index];
    free_blocks[index] = block;
}
void *calloc(size_t count, size_t size) { return memset(malloc(count * size), 0, count * size); }
void *realloc(void *block, size_t size) {
    void *moved = malloc(size);
    if (block) {
        const size_t old = *(size_t *)((char *)block - 16) - 16;
        memcpy(moved, block, old < size ? old : size);
        free(block);
    }
    return moved;
}

void lib_run(int blocks);
char *lib_give(void);

int main(void) {
    lib_run(1000);
    for (int i = 0; i < 1000; ++i) free(lib_give());
    say("fine\n");
    return 0;
}
