/* A library with an allocator for itself, under the names that mimalloc has. None of them is exported. */
#include "e2e.h"

#define API __attribute__((noipa, visibility("hidden")))

int lib_own_work(int blocks);

static char memory[8 << 20] __attribute__((aligned(64)));
static size_t used;

API void *mi_malloc(size_t size);
API void *mi_zalloc_aligned(size_t size, size_t alignment);
API void mi_free(void *block);

API void *mi_malloc(size_t size) {
    if (used + size + 64 > sizeof memory) return NULL;
    void *block = memory + used;
    used += (size + 63) & ~(size_t)63;
    return block;
}
API void *mi_zalloc_aligned(size_t size, size_t alignment) {
    void *block = alignment <= 64 ? mi_malloc(size) : NULL;
    return block ? memset(block, 0, size) : NULL;
}
API void mi_free(void *block) {
    if (block) *(char *)block = 0;
}

SITE int lib_own_work(int blocks) {
    for (int i = 0; i < blocks; ++i) {
        mi_free(checked(mi_malloc(40)));
        if (i % 2 == 0) checked(mi_zalloc_aligned(24, 32));
    }
    return blocks;
}
