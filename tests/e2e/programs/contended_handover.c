/* One thread allocates; two others free its blocks, all at the same time. */
#include "e2e.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define BLOCKS 100000
#define SLOTS 4096

static void *_Atomic slots[SLOTS];

SITE static void *produce(void *unused) {
    for (int i = 0; i < BLOCKS; ++i) {
        void *const block = checked(malloc(100 + i % 200));
        for (void *empty = NULL; !atomic_compare_exchange_weak(&slots[i % SLOTS], &empty, block); empty = NULL) sched_yield();
    }
    return unused;
}

/* Every other block, from the first or the second on. */
SITE static void *consume(void *first) {
    for (int i = *(int *)first; i < BLOCKS; i += 2) {
        void *block;
        while (!(block = atomic_exchange(&slots[i % SLOTS], NULL))) sched_yield();
        free(block);
    }
    return NULL;
}

int main(void) {
    pthread_t threads[3];
    int first[] = {0, 1};
    if (pthread_create(&threads[0], NULL, produce, NULL)) return 1;
    for (int i = 0; i < 2; ++i)
        if (pthread_create(&threads[1 + i], NULL, consume, &first[i])) return 1;
    for (int i = 0; i < 3; ++i)
        if (pthread_join(threads[i], NULL)) return 1;
    return 0;
}
