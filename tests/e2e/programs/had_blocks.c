// A process that has blocks when memtoll comes, and knows each of them.
//
//   had_blocks THREADS BLOCKS [odd]
//
// "odd": the C library's caches of the threads lie in chunks that are larger than it has asked for.
//
// Each thread makes BLOCKS of many sizes, frees every third, so that caches, bins and gaps have some, and then goes on allocating and
// freeing. Each line that it reads is a command:
//
//   count   prints the blocks that it has from before, and their usable bytes
//   free    every thread frees half of them; prints the same of those that were freed
//   grow    every thread reallocates a fourth of what is left; prints the same of the old ones
//   heap    what the C library says: usable bytes and bytes of chunks in use, of mappings
//   quit
#include "e2e.h"
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 200000, MIXED = 64 };

typedef struct {
    void** blocks;
    int count;
    unsigned seed;
} Own;

static Own all[256];
static int threads, per_thread;
static atomic_int rounds, done, command, is_over;
static atomic_ulong told_blocks, told_bytes;

static unsigned next(Own* own) { return own->seed = own->seed * 1664525u + 1013904223u; }

static size_t size_of(unsigned number) {
    unsigned kind = number >> 28;
    if (kind < 10) return number % 200;
    if (kind < 14) return number % 3000;
    if (kind < 15 || number % 50) return number % 40000;
    return 140000 + number % 500000; // a mapping of its own
}

static void* make(unsigned number) {
    if (number % 97 == 0) return memalign(64 << number % 4, size_of(number) + 1);
    if (number % 1013 == 0) return memalign(4096, 200000);
    return malloc(size_of(number));
}

static void tell(void* block) {
    atomic_fetch_add(&told_blocks, 1);
    atomic_fetch_add(&told_bytes, malloc_usable_size(block));
}

static void begin(Own* own, unsigned seed) {
    own->seed = seed;
    own->blocks = malloc(sizeof(void*) * (size_t)per_thread);
    void** some = malloc(sizeof(void*) * (size_t)per_thread);
    int kept = 0;
    for (int i = 0; i < per_thread; ++i) some[i] = make(next(own));
    for (int i = 0; i < per_thread; ++i) {
        if (i % 3 == 0) free(some[i]);
        else own->blocks[kept++] = some[i];
    }
    free(some);
    own->count = kept;
}

static void work_once(Own* own) {
    void* blocks[MIXED];
    for (int i = 0; i < MIXED; ++i) blocks[i] = malloc(16 + next(own) % 2000);
    for (int i = 0; i < MIXED; i += 2) blocks[i] = realloc(blocks[i], 16 + next(own) % 4000);
    for (int i = 0; i < MIXED; ++i) free(blocks[i]);
}

static void obey(Own* own) {
    int kept = 0;
    switch (atomic_load(&command)) {
    case 'c':
        for (int i = 0; i < own->count; ++i) tell(own->blocks[i]);
        tell(own->blocks);
        break;
    case 'f':
        for (int i = 0; i < own->count; ++i) {
            if (i % 2) own->blocks[kept++] = own->blocks[i];
            else tell(own->blocks[i]), free(own->blocks[i]);
        }
        own->count = kept;
        break;
    case 'g':
        for (int i = 0; i < own->count; ++i) {
            if (i % 4) own->blocks[kept++] = own->blocks[i];
            else tell(own->blocks[i]), keep(realloc(own->blocks[i], 100));
        }
        own->count = kept;
        break;
    }
}

static void* work(void* argument) {
    Own* own = argument;
    begin(own, (unsigned)(own - all) + 1);
    atomic_fetch_add(&done, 1);
    int seen = 0;
    while (!atomic_load(&is_over)) {
        if (atomic_load(&command) == 'g') usleep(1000); // the last one: memtoll needs the processors
        else work_once(own);
        if (atomic_load(&rounds) > seen) {
            ++seen;
            obey(own);
            atomic_fetch_add(&done, 1);
        }
    }
    return NULL;
}

// The only free chunks in which a cache has room are too small for another chunk beside it.
static void make_odd_chunks(void) {
    enum { CHUNKS = 40, USABLE = 0x298 };
    void* chunks[CHUNKS];
    mallopt(M_ARENA_MAX, 1);
    for (int i = 0; i < CHUNKS; ++i) {
        chunks[i] = malloc(USABLE);
        keep(malloc(24)); // so that neighbours stay apart
    }
    for (int i = 0; i < CHUNKS; ++i) free(chunks[i]);
}

int main(int count, char** arguments) {
    if (count > 3) make_odd_chunks();
    threads = count > 1 ? atoi(arguments[1]) : 1;
    per_thread = count > 2 ? atoi(arguments[2]) : 1000;
    pthread_t handles[256];
    static char out[4096], in[4096];
    setvbuf(stdout, out, _IOFBF, sizeof out);
    setvbuf(stdin, in, _IOFBF, sizeof in);
    for (int i = 0; i < threads; ++i) pthread_create(&handles[i], NULL, work, &all[i]);
    while (atomic_load(&done) < threads) {}
    puts("ready");
    fflush(stdout);
    char line[64];
    while (fgets(line, sizeof line, stdin) && strcmp(line, "quit\n") != 0) {
        if (line[0] == 'h') {
            struct mallinfo2 of = mallinfo2();
            printf("%zu %zu\n", of.uordblks, of.hblkhd);
        } else {
            told_blocks = told_bytes = 0;
            atomic_store(&command, line[0]);
            int wanted = threads + (atomic_fetch_add(&rounds, 1) + 1) * threads;
            while (atomic_load(&done) < wanted) {}
            printf("%lu %lu\n", told_blocks, told_bytes);
        }
        fflush(stdout);
    }
    atomic_store(&is_over, 1);
    for (int i = 0; i < threads; ++i) pthread_join(handles[i], NULL);
    puts("broken 0");
    return 0;
}
