/* More threads than processors pass the same few addresses to each other: with one arena (MALLOC_ARENA_MAX=1), a block of
 * this size that one thread frees is the next one that any thread gets. */
#include "e2e.h"
#include <pthread.h>

#define THREADS 8
#define PAIRS 50000
#define ROUNDS 3

SITE static void *crowd_one(void) { return checked(malloc(3000)); }

static void *crowd(void *nothing) {
    for (int i = 0; i < PAIRS; ++i) free(crowd_one());
    return nothing;
}

int main(void) {
    for (int round = 0; round < ROUNDS; ++round) {
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; ++i)
            if (pthread_create(&threads[i], NULL, crowd, NULL)) return 1;
        for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
    }
    return 0;
}
