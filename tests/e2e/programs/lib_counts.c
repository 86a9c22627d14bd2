/* A preloaded calloc and free that count their calls, null pointers apart: a witness beside the recorder. */
#include <stdatomic.h>
#include <stddef.h>

void *__libc_calloc(size_t count, size_t size);
void __libc_free(void *block);

static atomic_long callocs, frees;

void *calloc(size_t count, size_t size) {
    atomic_fetch_add(&callocs, 1);
    return __libc_calloc(count, size);
}

void free(void *block) {
    if (block) atomic_fetch_add(&frees, 1);
    __libc_free(block);
}

long counted(int of_frees) { return atomic_load(of_frees ? &frees : &callocs); }
