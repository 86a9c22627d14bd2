/* Four threads allocate and free as fast as they can, and hand every eighth block to another thread through a mailbox,
 * so that addresses wander between threads. */
#include "e2e.h"
#include <pthread.h>
#include <stdatomic.h>

#define THREADS 4
#define PAIRS 100000

static _Atomic(void *) mailbox[64];

SITE static void *hammer_one(unsigned random) { return checked(malloc(16 + random % 500)); }

static void *hammer(void *seed) {
    unsigned random = (unsigned)(size_t)seed;
    for (int i = 0; i < PAIRS; ++i) {
        random = random * 1664525 + 1013904223;
        void *block = hammer_one(random >> 8);
        if (i % 8 == 0) block = atomic_exchange(&mailbox[random >> 26], block);
        free(block);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; ++i)
        if (pthread_create(&threads[i], NULL, hammer, (void *)(i + 1))) return 1;
    for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
    for (int i = 0; i < 64; ++i) free(atomic_exchange(&mailbox[i], NULL));
    return 0;
}
