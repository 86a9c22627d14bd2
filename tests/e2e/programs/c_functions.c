/* Every allocation function of C, each a different number of times, from a function of its own. */
#include "e2e.h"
#include <malloc.h>
#include <stdint.h>

static void aligned_to(void *block, uintptr_t alignment) {
    if ((uintptr_t)checked(block) % alignment != 0) _exit(92);
}

SITE static void release(void *block) {
    free(block);
    STAY();
}

SITE static void *use_malloc(void) { return checked(malloc(100)); }
SITE static void *use_calloc(void) {
    char *block = checked(calloc(5, 20));
    for (int i = 0; i < 100; ++i)
        if (block[i]) _exit(93);
    memset(block, 1, 100); /* so that the next calloc has something to clear */
    return block;
}
SITE static void *use_realloc(void) { return checked(realloc(NULL, 100)); }
SITE static void *use_reallocarray(void) { return checked(reallocarray(NULL, 5, 20)); }
SITE static void *use_posix_memalign(void) {
    void *block = NULL;
    if (posix_memalign(&block, 64, 100)) _exit(94);
    aligned_to(block, 64);
    return block;
}
SITE static void *use_aligned_alloc(void) {
    void *block = aligned_alloc(128, 256);
    aligned_to(block, 128);
    return block;
}
SITE static void *use_memalign(void) {
    void *block = memalign(2048, 100);
    aligned_to(block, 2048);
    return block;
}
SITE static void *use_valloc(void) {
    void *block = valloc(100);
    aligned_to(block, 4096);
    return block;
}
#ifndef WITHOUT_PVALLOC /* jemalloc has none: libc's would hand out a block that jemalloc's free does not know */
SITE static void *use_pvalloc(void) {
    void *block = pvalloc(4096);
    aligned_to(block, 4096);
    return block;
}
#else
#define use_pvalloc use_valloc
#endif

int main(void) {
    void *(*const uses[])(void) = {use_malloc,        use_calloc,   use_realloc, use_reallocarray, use_posix_memalign,
                                   use_aligned_alloc, use_memalign, use_valloc,  use_pvalloc};
    for (int kind = 0; kind < 9; ++kind)
        for (int i = 0; i < 11 + kind; ++i) release(uses[kind]());
    return 0;
}
