/* 2,000 threads, 100 at a time. The C library keeps a few of their stacks for the next ones and gives up the others,
 * with what the loader allocated for each when it was made. Says what lib_counts.c counted, if that is there. */
#include "e2e.h"
#include <pthread.h>

#define THREADS 100
#define ROUNDS 20

long counted(int frees) __attribute__((weak));

static pthread_barrier_t all_live;

SITE static void *lives(void *nothing) {
    pthread_barrier_wait(&all_live);
    return nothing;
}

SITE static void starts(pthread_t *threads) {
    for (int i = 0; i < THREADS; ++i)
        if (pthread_create(&threads[i], NULL, lives, NULL)) _exit(1);
    STAY();
}

SITE static void joins(pthread_t *threads) {
    for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
    STAY();
}

int main(void) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&all_live, NULL, THREADS);
    for (int round = 0; round < ROUNDS; ++round) {
        starts(threads);
        joins(threads);
    }
    if (counted) {
        say_number("allocations", counted(0));
        say_number("frees", counted(1));
    }
    return 0;
}
