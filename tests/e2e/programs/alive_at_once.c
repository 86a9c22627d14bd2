/* alive_at_once THREADS: that number of threads lives at the same time. Each allocates a block that main frees, and one of its own
 * when all are there. main waits until these are gone: or as many of them might be live, while a thread that was stopped
 * holds on to one, that the peak comes when main has freed some of its blocks. */
#include "e2e.h"
#include <pthread.h>
#include <stdint.h>

static pthread_barrier_t all_live, all_done;

SITE static void *left_to_main(void) {
    void *block = checked(malloc(48));
    STAY();
    return block;
}

SITE static void own_block(void) {
    free(checked(malloc(32)));
    STAY();
}

static void *lives(void *unused) {
    (void)unused;
    void *block = left_to_main();
    pthread_barrier_wait(&all_live);
    own_block();
    pthread_barrier_wait(&all_done);
    return block;
}

int main(int argc, char **argv) {
    if (argc != 2) return 1;
    const unsigned count = (unsigned)atol(argv[1]);
    pthread_t *threads = checked(calloc(count, sizeof *threads));
    pthread_barrier_init(&all_live, NULL, count + 1);
    pthread_barrier_init(&all_done, NULL, count + 1);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 32 << 10);
    for (unsigned i = 0; i < count; ++i)
        if (pthread_create(&threads[i], &small, lives, NULL)) _exit(2);
    pthread_barrier_wait(&all_live);
    pthread_barrier_wait(&all_done);
    for (unsigned i = 0; i < count; ++i) {
        void *block;
        pthread_join(threads[i], &block);
        free(block);
    }
    free(threads);
    say("done\n");
    return 0;
}
