// Memory of which it is known who holds which page when the program ends. Arguments: a layout; "trim" gives back what can be,
// "hidden" hides the process from other users' tools.
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { kBlocks = 400000, kOneIn = 64, kThreads = 20, kGlobal = 24 << 20 };

static char global[kGlobal];
static void* keep;

__attribute__((noinline)) static void* survivor(size_t bytes) { return memset(malloc(bytes), 1, bytes); }
__attribute__((noinline)) static void* passer(size_t bytes) { return memset(malloc(bytes), 1, bytes); }

// Blocks side by side, of which one in kOneIn stays.
static void survivors(size_t bytes) {
    void** all = malloc(kBlocks * sizeof(void*));
    for (int i = 0; i < kBlocks; i++) all[i] = i % kOneIn ? passer(bytes) : survivor(bytes);
    printf("first %lu\n", (unsigned long)(uintptr_t)all[0]);
    for (int i = 0; i < kBlocks; i++)
        if (i % kOneIn) free(all[i]);
    keep = all;
}

// All blocks are free, but for one on top of them.
static void top(void) {
    void** all = malloc(kBlocks * sizeof(void*));
    for (int i = 0; i < kBlocks; i++) all[i] = passer(200);
    keep = survivor(64);
    for (int i = 0; i < kBlocks; i++) free(all[i]);
    free(all);
}

// A capacity of which the half is used.
static void capacity(void) {
    char* all = malloc(64 << 20);
    memset(all, 1, 32 << 20);
    keep = all;
}

static void own_mapping(void) {
    char* all = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(all, 64 << 20, MADV_NOHUGEPAGE);
    memset(all, 1, 32 << 20);
    keep = all;
}

static void globals(void) {
    memset(global, 1, sizeof global);
    keep = survivor(16);
}

// Blocks of two lines side by side on each page, one in kOneIn of each line stays; those of one are as large as four of the other.
__attribute__((noinline)) static void* small_survivor(void) { return memset(malloc(56), 1, 56); }
__attribute__((noinline)) static void* large_survivor(void) { return memset(malloc(248), 1, 248); }

static void two_lines(void) {
    void** all = malloc(kBlocks * sizeof(void*));
    for (int i = 0; i < kBlocks; i++) all[i] = i % kOneIn == 0 ? small_survivor() : i % kOneIn == 1 ? large_survivor() : passer(56);
    printf("first %lu\n", (unsigned long)(uintptr_t)all[0]);
    for (int i = 0; i < kBlocks; i++)
        if (i % kOneIn > 1) free(all[i]);
    keep = all;
}

static pthread_barrier_t filled, barrier;

// glibc has fewer arenas than there are threads here: no thread may get what another has freed.
static void* in_arena(void* unused) {
    void* blocks[2000];
    for (int i = 0; i < 2000; i++) blocks[i] = passer(1000);
    void* stays = survivor(1000);
    pthread_barrier_wait(&filled);
    for (int i = 0; i < 2000; i++) free(blocks[i]);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    (void)unused;
    return stays;
}

static void arenas(void) {
    pthread_t threads[kThreads];
    pthread_barrier_init(&filled, NULL, kThreads);
    pthread_barrier_init(&barrier, NULL, kThreads + 1);
    for (int i = 0; i < kThreads; i++) pthread_create(&threads[i], NULL, in_arena, NULL);
    pthread_barrier_wait(&barrier);
    _exit(0);
}

int main(int argc, char** argv) {
    setvbuf(stdout, NULL, _IONBF, 0);
    const char* layout = argv[1];
    if (!strcmp(argv[argc - 1], "hidden")) prctl(PR_SET_DUMPABLE, 0);
    if (!strcmp(layout, "survivors")) survivors(atoi(argv[2]));
    if (!strcmp(layout, "top")) top();
    if (!strcmp(layout, "capacity")) capacity();
    if (!strcmp(layout, "two-lines")) two_lines();
    if (!strcmp(layout, "mapping")) own_mapping();
    if (!strcmp(layout, "globals")) globals();
    if (!strcmp(layout, "arenas")) arenas();
    if (!strcmp(argv[argc - 1], "trim")) malloc_trim(0);
    // What the allocator itself says it has from the system, and what of it is free.
    const struct mallinfo2 info = mallinfo2();
    printf("arena %lu\nfree %lu\nmapped %lu\n", (unsigned long)info.arena, (unsigned long)info.fordblks, (unsigned long)info.hblkhd);
    return 0;
}
