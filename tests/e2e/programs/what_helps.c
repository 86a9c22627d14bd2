// Memory that a remedy gives back. Arguments: a layout, a remedy or "none". Prints the resident set before and after the remedy, with
// jemalloc also what it counts itself.
#define _GNU_SOURCE
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

// Pseudo-random numbers, the same ones in each run.
static unsigned draw(void) {
    static unsigned state = 1;
    return (state = state * 1664525u + 1013904223u) >> 8;
}

static size_t one_of_five(void) {
    static const size_t sizes[] = {24, 100, 300, 1000, 3000};
    static unsigned number;
    return sizes[number++ % 5];
}
static size_t any_to_2000(void) { return 16 + draw() % 1985; }
static size_t of_200(void) { return 200; }
static size_t of_1000(void) { return 1000; }
static size_t of_100_kib(void) { return 100 << 10; }
static size_t of_256_kib(void) { return 256 << 10; }

static void* aligned(size_t bytes) {
    void* block = NULL;
    if (posix_memalign(&block, 256, bytes)) abort();
    return memset(block, 1, bytes);
}
static void* grown(size_t bytes) {
    void* block = NULL;
    for (size_t size = bytes / 8; size <= bytes; size += size) block = realloc(block, size);
    return memset(block, 1, bytes);
}
static void* written(size_t bytes) { return memset(malloc(bytes), 1, bytes); }
static void* zeroed(size_t bytes) { return calloc(1, bytes); }

// Which layouts there are beside those with functions of their own: one block in `one_in` stays.
struct Mix {
    const char* name;
    int blocks, one_in, in_any_order;
    size_t (*size)(void);
    Allocate* allocate;
};

static const struct Mix kMixes[] = {
    {"sizes", 100000, 64, 0, one_of_five, written},
    {"half", 60000, 2, 0, of_1000, written},
    {"any_lifetimes", 100000, 50, 1, any_to_2000, written},
    {"aligned", 100000, 64, 0, of_200, aligned},
    {"grown", 100000, 64, 0, of_1000, grown},
    {"zeroed", 1000, 16, 0, of_100_kib, zeroed},
    {"mapped", 200, 8, 0, of_256_kib, written},
};

// Frees the blocks that go, or those that stay, in their order or in any.
static void free_of(const struct Mix* mix, const char* is_kept, int kept) {
    for (int k = 0; k < mix->blocks; k++) {
        // 7919 is prime, and no divisor of the number of blocks.
        const int i = mix->in_any_order ? (int)((long)k * 7919 % mix->blocks) : k;
        if (is_kept[i] == kept) free(all[i]);
    }
}

static void mixed(const struct Mix* mix) {
    static char is_kept[kBlocks];
    for (int i = 0; i < mix->blocks; i++) {
        const size_t bytes = mix->size();
        is_kept[i] = (mix->in_any_order ? (int)(draw() % mix->one_in) : i % mix->one_in) == 0;
        all[i] = mix->allocate(bytes);
    }
    free_of(mix, is_kept, 0);
    print_resident("before");
    if (with("trim")) malloc_trim(0);
    if (with("free")) {
        malloc_trim(0);
        print_resident("before");
        free_of(mix, is_kept, 1);
        malloc_trim(0);
    }
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

// Null unless jemalloc is preloaded.
int mallctl(const char* name, void* old, size_t* old_length, void* new, size_t new_length) __attribute__((weak));

// What jemalloc is asked for all arenas.
static void purge(void) {
    if (!mallctl || mallctl("thread.tcache.flush", NULL, NULL, NULL, 0) || mallctl("arena.4096.purge", NULL, NULL, NULL, 0)) abort();
}

static size_t asked(const char* name, size_t length) {
    size_t value = 0;
    if (mallctl(name, &value, &length, NULL, 0)) abort();
    return value;
}

// What jemalloc counts: all that it has in memory, its own metadata among that, and the free bytes of slabs, which redis calls
// allocator_frag.
static void print_counts_of_jemalloc(void) {
    uint64_t epoch = 1;
    if (!mallctl) return;
    if (mallctl("thread.tcache.flush", NULL, NULL, NULL, 0) || mallctl("epoch", NULL, NULL, &epoch, sizeof epoch)) abort();
    size_t free_in_slabs = 0;
    const unsigned bins = asked("arenas.nbins", sizeof(unsigned));
    for (unsigned bin = 0; bin < bins; bin++) {
        char name[64];
        snprintf(name, sizeof name, "arenas.bin.%u.size", bin);
        const size_t size = asked(name, sizeof(size_t));
        snprintf(name, sizeof name, "arenas.bin.%u.nregs", bin);
        const size_t slots = asked(name, sizeof(uint32_t));
        snprintf(name, sizeof name, "stats.arenas.4096.bins.%u.curslabs", bin);
        const size_t slabs = asked(name, sizeof(size_t));
        snprintf(name, sizeof name, "stats.arenas.4096.bins.%u.curregs", bin);
        free_in_slabs += (slabs * slots - asked(name, sizeof(size_t))) * size;
    }
    dprintf(1, "free_in_slabs %zu\n", free_in_slabs);
    dprintf(1, "of_jemalloc %zu\n", asked("stats.resident", sizeof(size_t)));
    dprintf(1, "metadata %zu\n", asked("stats.metadata", sizeof(size_t)));
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
    for (size_t i = 0; i < sizeof kMixes / sizeof *kMixes; i++)
        if (!strcmp(layout, kMixes[i].name)) mixed(&kMixes[i]);
    print_counts_of_jemalloc();
    // As a server would.
    if (getenv("LINGER")) usleep(1300000);
    print_resident("after");
    print_memory("addresses", 0);
    _exit(0);
}
