/* A libc that has the functions of C23: they must be reached through the recorder. */
#include "e2e.h"

int calls_of_free_sized, calls_of_free_aligned_sized;

void free_sized(void *block, size_t size) {
    calls_of_free_sized += size == 128;
    free(block);
}

void free_aligned_sized(void *block, size_t alignment, size_t size) {
    calls_of_free_aligned_sized += alignment == 64 && size == 128;
    free(block);
}
