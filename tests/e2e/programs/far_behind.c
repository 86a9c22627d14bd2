/* Threads call faster than memtoll packs until the program ends. One block is lost. */
#include "e2e.h"
#include <pthread.h>

#define THREADS 4
#define PAIRS 1000000

SITE static void *churned(unsigned bytes) { return checked(malloc(bytes)); }
SITE static char *lost_block(void) { char *block = checked(calloc(1, 100)); STAY(); return block; }

static void *churn(void *unused) {
    for (unsigned i = 0; i < PAIRS; ++i) free(churned(16 + i % 500));
    return unused;
}

int main(void) {
    keep(lost_block());
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; ++i)
        if (pthread_create(&threads[i], NULL, churn, NULL)) return 1;
    for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
    return 0;
}
