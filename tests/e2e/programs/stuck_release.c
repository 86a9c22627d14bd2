/* A thread stays inside free() while another one gets its block, again and again, and records more than memtoll's shared
 * memory holds, for longer than memtoll waits for the first one. With lib_stuck_free.c. */
#include "e2e.h"
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define PAIRS 4000000

SITE static void *first_one(void) { return checked(malloc(3000)); }
SITE static void *later_one(void) { return checked(malloc(3000)); }

static void *release(void *block) {
    free(block);
    STAY();
    return NULL;
}

int main(void) {
    _Atomic(void *) *stuck_block = dlsym(RTLD_DEFAULT, "stuck_block");
    atomic_int *stuck_state = dlsym(RTLD_DEFAULT, "stuck_state");
    if (!stuck_block || !stuck_state) return 2;
    pthread_t thread;
    void *first = first_one();
    atomic_store(stuck_block, first);
    if (pthread_create(&thread, NULL, release, first)) return 1;
    while (atomic_load(stuck_state) != 1) sched_yield();
    long again = 0;
    for (int i = 0; i < PAIRS; ++i) {
        void *later = later_one();
        again += later == first;
        free(later);
    }
    atomic_store(stuck_state, 2);
    pthread_join(thread, NULL);
    say(again > 0 ? "got it again\n" : "never got it again\n");
    return 0;
}
