/* 10,000 threads, ten at a time, each of which allocates three blocks and leaves one of them to main. */
#include "e2e.h"
#include <pthread.h>

SITE static void *short_life(void *unused) {
    void *left = checked(malloc(10));
    for (int i = 0; i < 2; ++i) free(checked(malloc(20)));
    return unused ? NULL : left;
}

int main(void) {
    pthread_t threads[10];
    for (int round = 0; round < 1000; ++round) {
        for (int i = 0; i < 10; ++i)
            if (pthread_create(&threads[i], NULL, short_life, NULL)) return 1;
        for (int i = 0; i < 10; ++i) {
            void *left;
            pthread_join(threads[i], &left);
            free(left);
        }
    }
    return 0;
}
