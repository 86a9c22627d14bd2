/* A thread that never calls the allocator, also not at its end, touches all of a block that the main thread has allocated. */
#include "e2e.h"
#include <pthread.h>
#include <stdatomic.h>

enum { BYTES = 8 << 20, PAGE = 4096 };

static atomic_int done;

static void *touch(void *block) {
    for (size_t at = 0; at < BYTES; at += PAGE) ((volatile char *)block)[at] = 1;
    done = 1;
    for (;;) pause();
}

int main(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, touch, checked(malloc(BYTES)))) return 1;
    while (!done) usleep(1000);
    return 0;
}
