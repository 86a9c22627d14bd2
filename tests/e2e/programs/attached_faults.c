/* A process that touches a known number of pages after memtoll has come.
 *
 * Its lines are commands: "touch" (three threads from before and a new one touch 100 pages each, of blocks that they make, and
 * the main thread 50 of a block from before), "quit". */
#include "pages.h"
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 3 };

static pthread_barrier_t begin, end;
static volatile int is_over;

/* 100 pages: 1 inside malloc, 99 outside. */
SITE static void *old_thread(void *argument) {
    warm_up();
    for (;;) {
        pthread_barrier_wait(&begin);
        if (is_over) return argument;
        char *block = checked(malloc(100 * PAGE - 64));
        touch(block, 100);
        free(block);
        pthread_barrier_wait(&end);
    }
}

/* The same. */
SITE static void *new_thread(void *argument) {
    warm_up();
    char *block = checked(malloc(100 * PAGE - 64));
    touch(block, 100);
    free(block);
    return argument;
}

int main(void) {
    small_pages_only();
    mallopt(M_MMAP_THRESHOLD, 32 * PAGE); /* a mapping for each block, also after some were freed */
    pthread_t threads[THREADS], another;
    /* The first page is malloc's. */
    char *had = checked(malloc(200 * PAGE - 64));
    pthread_barrier_init(&begin, NULL, THREADS + 1);
    pthread_barrier_init(&end, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; ++i) pthread_create(&threads[i], NULL, old_thread, NULL);
    puts("ready");
    fflush(stdout);
    char line[64];
    while (fgets(line, sizeof line, stdin) && strcmp(line, "quit\n") != 0) {
        pthread_barrier_wait(&begin);
        pthread_create(&another, NULL, new_thread, NULL);
        pthread_join(another, NULL);
        touch(had + PAGE, 50);
        pthread_barrier_wait(&end);
        puts("touched");
        fflush(stdout);
    }
    is_over = 1;
    pthread_barrier_wait(&begin);
    for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
    puts("broken 0");
    return 0;
}
