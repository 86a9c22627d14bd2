// What memory costs beside the calls: pages touched for the first time, mappings, the heap growing, regions. See README.md.
#include "memtoll.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, FRAMES = 10 };

static void* volatile kept;

static __attribute__((noinline)) char* buffer(size_t bytes) { return malloc(bytes); }

static __attribute__((noinline)) void small_blocks(void) {
    for (int i = 0; i < 4000; ++i) kept = malloc(100); // never freed: the heap grows by brk
}

int main(void) {
    mallopt(M_MMAP_THRESHOLD, 128 * 1024); // stays: each buffer has a mapping of its own
    small_blocks();
    for (int frame = 0; frame < FRAMES; ++frame) {
        memtoll_region_begin("frame");
        char* const pixels = buffer(64 * PAGE);
        memset(pixels, 1, 64 * PAGE);
        free(pixels);
        memtoll_region_end("frame");
    }
    volatile char* sparse = buffer(256 * PAGE);
    sparse[100 * PAGE] = 1; // and the page with the allocator's header
    volatile char* mapping = mmap(NULL, 128 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int page = 0; page < 32; ++page) mapping[page * PAGE] = 1;
    munmap((void*)mapping, 128 * PAGE);
    return 0;
}
