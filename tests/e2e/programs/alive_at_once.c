/* alive_at_once THREADS: so many threads live at the same time. Each allocates a block that main frees, and one of its own
 * when all are there. */
#include "e2e.h"
#include <pthread.h>
#include <stdint.h>

static pthread_barrier_t all_live;

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
    return block;
}

int main(int argc, char **argv) {
    if (argc != 2) return 1;
    const unsigned count = (unsigned)atol(argv[1]);
    pthread_t *threads = checked(calloc(count, sizeof *threads));
    pthread_barrier_init(&all_live, NULL, count + 1);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 32 << 10);
    for (unsigned i = 0; i < count; ++i)
        if (pthread_create(&threads[i], &small, lives, NULL)) _exit(2);
    pthread_barrier_wait(&all_live);
    for (unsigned i = 0; i < count; ++i) {
        void *block;
        pthread_join(threads[i], &block);
        free(block);
    }
    free(threads);
    say("done\n");
    return 0;
}
