/* One thread allocates, another frees. */
#include "e2e.h"
#include <pthread.h>

#define BLOCKS 1000

static void *blocks[BLOCKS];

SITE static void *produce(void *unused) {
    for (int i = 0; i < BLOCKS; ++i) blocks[i] = checked(malloc(100));
    return unused;
}

SITE static void *consume(void *unused) {
    for (int i = 0; i < BLOCKS; ++i) free(blocks[i]);
    return unused;
}

int main(void) {
    pthread_t thread;
    for (int round = 0; round < 2; ++round) {
        if (pthread_create(&thread, NULL, produce, NULL) || pthread_join(thread, NULL)) return 1;
        if (pthread_create(&thread, NULL, consume, NULL) || pthread_join(thread, NULL)) return 1;
    }
    return 0;
}
