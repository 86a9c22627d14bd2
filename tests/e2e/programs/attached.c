// A process that memtoll attaches to. Its threads allocate all the time, from before memtoll comes until after it has left.
// What `exact` does is between two lines that the program prints, so its calls are known exactly.
//
//   attached THREADS
//
// Each line that it reads is a command: "exact" (every thread makes its calls once), "threads" (four more
// threads come and go), "quit".
#include "e2e.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLS = 500 };

static atomic_int rounds, done, is_over;
static atomic_ulong broken;

SITE void noise(unsigned seed) {
    char* blocks[16];
    for (int i = 0; i < 16; ++i) {
        size_t size = 16 + seed * 7 % 900 + i;
        blocks[i] = malloc(size);
        memset(blocks[i], (int)(seed + i), size);
    }
    for (int i = 0; i < 16; ++i) {
        blocks[i] = realloc(blocks[i], 1200);
        if (blocks[i][3] != (char)(seed + i)) atomic_fetch_add(&broken, 1);
        free(blocks[i]);
    }
}

// CALLS times 100 bytes from malloc, CALLS times 30 from calloc, of which the latter are freed.
SITE void exact(void) {
    for (int i = 0; i < CALLS; ++i) {
        keep(malloc(100));
        void* block = calloc(3, 10);
        keep(block);
        free(block);
    }
}

// A thread that ends at once.
SITE void* short_lived(void* argument) {
    for (int i = 0; i < 20; ++i) {
        void* block = malloc(50);
        keep(block);
        free(block);
    }
    return argument;
}

static void* work(void* argument) {
    unsigned seed = (unsigned)(uintptr_t)argument;
    int seen = 0;
    while (!atomic_load(&is_over)) {
        noise(seed++);
        if (atomic_load(&rounds) > seen) {
            ++seen;
            exact();
            atomic_fetch_add(&done, 1);
        }
    }
    return NULL;
}

int main(int count, char** arguments) {
    int threads = count > 1 ? atoi(arguments[1]) : 1;
    pthread_t all[1024];
    for (int i = 0; i < threads; ++i) pthread_create(&all[i], NULL, work, (void*)(uintptr_t)(i + 1));
    puts("ready");
    fflush(stdout);
    char line[64];
    while (fgets(line, sizeof line, stdin) && strcmp(line, "quit\n") != 0) {
        if (strcmp(line, "threads\n") == 0) {
            pthread_t some[4];
            for (int i = 0; i < 4; ++i) pthread_create(&some[i], NULL, short_lived, NULL);
            for (int i = 0; i < 4; ++i) pthread_join(some[i], NULL);
            puts("ended");
            fflush(stdout);
            continue;
        }
        int wanted = (atomic_fetch_add(&rounds, 1) + 1) * threads;
        while (atomic_load(&done) < wanted) {}
        puts("made");
        fflush(stdout);
    }
    atomic_store(&is_over, 1);
    for (int i = 0; i < threads; ++i) pthread_join(all[i], NULL);
    printf("broken %lu\n", atomic_load(&broken));
    return atomic_load(&broken) > 0;
}
