// Memory that a remedy gives back. Arguments: a layout, a remedy or "none". Prints the resident set before and after the remedy.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { kBlocks = 400000, kOneIn = 64, kThreads = 12, kInThread = 2000, kInHugePage = 200 };

static void** all;
static void* keep;
static const char* remedy;

static int with(const char* name) { return !strcmp(remedy, name); }

__attribute__((noinline)) static void* survivor(size_t bytes) { return memset(malloc(bytes), 1, bytes); }
__attribute__((noinline)) static void* second_survivor(size_t bytes) { return memset(malloc(bytes), 2, bytes); }
__attribute__((noinline)) static void* passer(size_t bytes) { return memset(malloc(bytes), 3, bytes); }

// In memory, of no file, whose pages depend on what else the machine does; page by page, since statm is some hundred KiB inexact. Or
// the size of all mappings. Without a block of its own.
static void print_memory(const char* word, int is_resident) {
    const char* head = is_resident ? "\nAnonymous:" : "\nVmSize:";
    char text[4096] = {0};
    const int file = open(is_resident ? "/proc/self/smaps_rollup" : "/proc/self/status", O_RDONLY);
    if (read(file, text, sizeof text - 1) < 0) abort();
    close(file);
    const unsigned long kib = strtoul(strstr(text, head) + strlen(head), NULL, 10);
    dprintf(1, "%s %lu\n", word, kib * 1024);
}

static void print_resident(const char* word) { print_memory(word, 1); }

static void small_pages(void) {
    if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)) abort();
}

typedef void* Allocate(size_t);

static int stays(int i) { return i % kOneIn == 0; }

// Blocks from first to end, of which one in kOneIn stays; every other one of those is odd's.
__attribute__((noinline)) static void fill(int first, int end, size_t bytes, Allocate* even, Allocate* odd) {
    for (int i = first; i < end; i++) all[i] = !stays(i) ? passer(bytes) : (i / kOneIn) % 2 ? odd(bytes) : even(bytes);
}

static void free_passers(void) {
    for (int i = 0; i < kBlocks; i++)
        if (!stays(i)) free(all[i]);
}

static void free_survivors(int first, int end) {
    for (int i = first; i < end; i++)
        if (stays(i)) free(all[i]);
}

// The survivors' pages are measured alone: what is free anyway is given back before.
static void free_and_trim(int first, int end) {
    malloc_trim(0);
    print_resident("before");
    free_survivors(first, end);
    malloc_trim(0);
}

static void survivors(size_t bytes) {
    fill(0, kBlocks, bytes, survivor, survivor);
    free_passers();
    print_resident("before");
    if (with("trim")) malloc_trim(0);
    if (with("free")) free_and_trim(0, kBlocks);
}

// Each of two lines has the pages of a half.
static void two_lines(void) {
    fill(0, kBlocks / 2, 100, survivor, survivor);
    fill(kBlocks / 2, kBlocks, 100, second_survivor, second_survivor);
    free_passers();
    if (with("free")) free_and_trim(0, kBlocks / 2);
}

// Two lines lie on the same pages.
static void side_by_side(void) {
    fill(0, kBlocks, 20, survivor, second_survivor);
    free_passers();
    if (with("free")) free_and_trim(0, kBlocks);
}

static void top(void) {
    if (with("early")) keep = survivor(64);
    for (int i = 0; i < kBlocks; i++) all[i] = passer(200);
    if (!with("early")) keep = survivor(64);
    for (int i = 0; i < kBlocks; i++) free(all[i]);
    print_resident("before");
    if (with("trim")) malloc_trim(0);
}

static pthread_barrier_t turn, end;
static int has_survivors;

static void* in_arena(void* unused) {
    static __thread void* blocks[kInThread];
    for (int i = 0; i < kInThread; i++) blocks[i] = passer(1000);
    void* stays = has_survivors ? survivor(1000) : NULL;
    for (int i = 0; i < kInThread; i++) free(blocks[i]);
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&end);
    (void)unused;
    return stays;
}

// A tenth of a huge page.
static void* in_huge_page(void* unused) {
    for (int i = 0; i < kInHugePage; i++) survivor(1000);
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&end);
    return unused;
}

// Threads allocate one after the other, and live until the end.
static void arenas(void* (*in_thread)(void*)) {
    pthread_t threads[kThreads];
    pthread_barrier_init(&turn, NULL, 2);
    pthread_barrier_init(&end, NULL, kThreads + 1);
    for (int i = 0; i < kThreads; i++) {
        pthread_create(&threads[i], NULL, in_thread, NULL);
        pthread_barrier_wait(&turn);
    }
    print_resident("before");
    if (with("trim")) malloc_trim(0);
}

// Blocks of 33 bytes take 48; slots take 40.
static void rounding(void) {
    char* slots = with("slots") ? malloc(kBlocks * 40) : NULL;
    for (int i = 0; i < kBlocks; i++) all[i] = slots ? memset(slots + 40 * i, 1, 33) : survivor(33);
    print_resident("before");
}

// What jemalloc is asked for all arenas.
static void purge(void) {
    int (*control)(const char*, void*, size_t*, void*, size_t);
    *(void**)&control = dlsym(RTLD_DEFAULT, "mallctl");
    if (!control || control("thread.tcache.flush", NULL, NULL, NULL, 0) || control("arena.4096.purge", NULL, NULL, NULL, 0)) abort();
}

static void kept(void) {
    fill(0, kBlocks, 1000, survivor, survivor);
    for (int i = 0; i < kBlocks; i++) free(all[i]);
    print_resident("before");
    if (with("purge")) purge();
}

// A quarter of it is touched.
static void capacity(void) {
    const size_t touched = 64 << 20;
    keep = malloc(with("less") ? touched : 4 * touched);
    memset(keep, 1, touched);
}

int main(int argc, char** argv) {
    const char* layout = argv[1];
    remedy = argv[argc - 1];
    if (with("small") || !strcmp(layout, "capacity")) small_pages();
    // It would lie in a huge page, too.
    if (strcmp(layout, "huge")) all = malloc(kBlocks * sizeof(void*));
    if (!strcmp(layout, "survivors")) survivors(atoi(argv[2]));
    if (!strcmp(layout, "two_lines")) two_lines();
    if (!strcmp(layout, "side_by_side")) side_by_side();
    if (!strcmp(layout, "top")) top();
    if (!strcmp(layout, "arenas")) {
        has_survivors = 1;
        arenas(in_arena);
    }
    if (!strcmp(layout, "arenas_top")) {
        // From now on, glibc keeps twice as much free memory on top of each heap.
        free(survivor(24 << 20));
        arenas(in_arena);
    }
    if (!strcmp(layout, "huge")) arenas(in_huge_page);
    if (!strcmp(layout, "capacity")) capacity();
    if (!strcmp(layout, "rounding")) rounding();
    if (!strcmp(layout, "kept")) kept();
    // As a server would.
    if (getenv("LINGER")) usleep(1300000);
    print_resident("after");
    print_memory("addresses", 0);
    _exit(0);
}
