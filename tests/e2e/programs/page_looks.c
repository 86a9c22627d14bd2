// Memory of its own that grows and shrinks in steps, with a mark at each of them. Argument: what happens then.
#include "memtoll.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kMiB = 1 << 20, kBlocks = 100, kBlock = 8 * kMiB / kBlocks };

// Memory of this many MiB, touched.
static char* fresh(size_t mib) {
    char* all = mmap(NULL, mib * kMiB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(all, mib * kMiB, MADV_NOHUGEPAGE);
    return memset(all, 1, mib * kMiB);
}

// Does nothing to its memory, so that there is time to look at it.
static void stay(void) {
    const clock_t until = clock() + CLOCKS_PER_SEC / 5;
    while (clock() < until) {
    }
    usleep(300000);
}

// So much CPU time that a hundredth of it is enough for several looks, which take longer on a busy machine.
static void stay_long(void) {
    for (int i = 0; i < 5; i++) stay();
}

static void marks(void) {
    char* all = fresh(32);
    memtoll_mark("loaded");
    stay_long();
    munmap(all, 32 * kMiB);
    memtoll_region_begin("fill");
    all = fresh(12);
    memtoll_region_end("fill");
    stay();
    munmap(all, 12 * kMiB);
}

// Blocks, of which one in 64 stays.
static void blocks(void) {
    enum { kBlocks = 100000, kOneIn = 64 };
    static void* all[kBlocks];
    for (int i = 0; i < kBlocks; i++) all[i] = memset(malloc(100), 1, 100);
    memtoll_mark("filled");
    stay();
    for (int i = 0; i < kBlocks; i++)
        if (i % kOneIn) free(all[i]);
    memtoll_mark("sparse");
    stay();
}

// More marks than anybody looks at.
static void many(void) {
    for (int i = 0; i < 100; i++) memtoll_mark("round");
    stay();
}

// Grows until it is killed.
static void killed(void) {
    for (int i = 0; i < 12; i++) {
        fresh(8);
        stay();
    }
    kill(getpid(), SIGKILL);
}

static void* volatile kept;

// Blocks in the heap, which ends behind them. The last one to be freed is the one below its end.
static void heap(void) {
    static void* blocks[kBlocks];
    for (int i = 0; i < kBlocks; i++) {
        blocks[i] = malloc(kBlock);
        memset(blocks[i], 1, kBlock);
    }
    for (int i = 0; i < kBlocks; i++) free(blocks[i]);
}

static void block(void) {
    kept = malloc(8 * kMiB);
    memset(kept, 1, 8 * kMiB);
    free(kept);
}

static void mapping(void) { munmap(fresh(8), 8 * kMiB); }

// Has 8 MiB more for a moment.
static void brief(void (*have)(void)) {
    fresh(40);
    stay_long();
    have();
    stay();
}

// Waits for a line before each step.
static void asked(void) {
    char line[16];
    char* all = fresh(24);
    printf("%d\n", getpid());
    fflush(stdout);
    if (!fgets(line, sizeof line, stdin)) return;
    munmap(all, 24 * kMiB);
}

int main(int argc, char** argv) {
    const char* what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "marks")) marks();
    if (!strcmp(what, "blocks")) blocks();
    if (!strcmp(what, "many")) many();
    if (!strcmp(what, "killed")) killed();
    if (!strcmp(what, "brief_mapping")) brief(mapping);
    if (!strcmp(what, "brief_block")) brief(block);
    if (!strcmp(what, "brief_heap")) brief(heap);
    if (!strcmp(what, "asked")) asked();
    return 0;
}
