/* naps THREADS: 20 naps of 10 ms inside malloc (lib_one_lock.c), as if the kernel fetched pages there or a control group had
 * no time left. With two threads, the other one has made its last call before, and sleeps. */
#include "e2e.h"
#include <pthread.h>
#include <stdatomic.h>

#define SIZE 1000
#define NAPS 20

extern void (*while_locked)(size_t size);

static atomic_int is_ready, is_over;

static void nap(size_t size) {
    if (size == SIZE) usleep(10000);
}

SITE static void *asks(void) { return checked(malloc(SIZE)); }

static void *sleeps(void *nothing) {
    free(checked(malloc(10)));
    atomic_store(&is_ready, 1);
    while (!atomic_load(&is_over)) usleep(1000);
    return nothing;
}

int main(int argc, char **argv) {
    pthread_t other;
    const int two = argc == 2 && argv[1][0] == '2';
    if (two && pthread_create(&other, NULL, sleeps, NULL)) return 1;
    while (two && !atomic_load(&is_ready)) usleep(100);
    while_locked = nap;
    for (int i = 0; i < NAPS; ++i) free(asks());
    while_locked = NULL;
    atomic_store(&is_over, 1);
    return two ? pthread_join(other, NULL) : 0;
}
