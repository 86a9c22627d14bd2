// Three threads, each with 4 MiB live at its peak; they come one after the other, so no two peaks meet.
#include "e2e.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void *work(void *ignored) {
    (void)ignored;
    char *blocks[64];
    for (int i = 0; i < 64; ++i) {
        blocks[i] = checked(malloc(64 << 10));
        memset(blocks[i], 1, 64 << 10);
    }
    for (int i = 0; i < 64; ++i) free(blocks[i]);
    return NULL;
}

int main(void) {
    for (int i = 0; i < 3; ++i) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, NULL) != 0) return 1;
        pthread_join(thread, NULL);
    }
    return 0;
}
