/* Pages of blocks and mappings that are touched a known number of times. Blocks of 128 KiB and more have a mapping of
 * their own, of which malloc itself touches the first page. */
#include "pages.h"
#include <fcntl.h>
#include <malloc.h>

SITE static void touch_for(char *memory, long pages) { touch(memory, pages); }

/* 400 pages: 1 inside malloc, 399 outside. */
SITE static void by_malloc(void) {
    char *block = checked(malloc(400 * PAGE - 64));
    touch_for(block, 400);
    free(block);
}

/* 300 pages: the kernel's pages are zeroed already, so calloc touches only one. */
SITE static void by_calloc(void) {
    char *block = checked(calloc(300, PAGE));
    touch_for(block, 300);
    free(block);
}

/* 10,000 blocks of 112 bytes and their headers, next to each other: 1,280,000 bytes are 312.5 pages, and malloc writes
 * to each of them. */
SITE static void small_blocks(void) {
    for (int i = 0; i < 10000; ++i) checked(malloc(112));
    STAY();
}

/* The block that was freed is got again: 16 pages at most, whatever is touched. */
SITE static void reuse(void) {
    for (int i = 0; i < 1000; ++i) {
        char *block = checked(malloc(16 * PAGE));
        touch_for(block, 16);
        free(block);
    }
}

/* 500 pages, and 250 of them once more. */
SITE static char *by_mmap(void) {
    return mapped(mmap(0, 500 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}
SITE static void again(char *memory) {
    madvise(memory, 250 * PAGE, MADV_DONTNEED);
    touch_for(memory, 250);
}

/* 200 pages, then 100 more of the same mapping, which moves or grows. */
SITE static char *grown(void) {
    char *block = checked(malloc(200 * PAGE - 64));
    touch_for(block, 200);
    return block;
}
SITE static void grows(char *block) {
    block = checked(realloc(block, 300 * PAGE - 64));
    touch_for(block, 300);
    free(block);
}

SITE static long on_stack(long depth) {
    volatile char page[PAGE];
    page[0] = (char)depth;
    const long below = depth > 0 ? on_stack(depth - 1) : 0;
    return below + page[0];
}

/* 20 pages of a file that is in memory, each of them one fault: the kernel is told not to map several at once. */
SITE static void file_pages(void) {
    char name[] = "/tmp/memtoll-e2e-XXXXXX";
    const int file = mkstemp(name);
    if (file < 0 || unlink(name)) _exit(95);
    for (int i = 0; i < 20; ++i)
        if (pwrite(file, "x", 1, i * PAGE) != 1) _exit(96);
    char *memory = mapped(mmap(0, 20 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    madvise(memory, 20 * PAGE, MADV_RANDOM);
    touch(memory, 20);
    munmap(memory, 20 * PAGE);
    close(file);
}

int main(void) {
    small_pages_only();
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    warm_up();
    by_malloc();
    by_calloc();
    small_blocks();
    reuse();
    char *memory = by_mmap();
    touch_for(memory, 500);
    again(memory);
    munmap(memory, 500 * PAGE);
    grows(grown());
    on_stack(40);
    file_pages();
    say_faults();
    return 0;
}
