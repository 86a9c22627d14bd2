/* Four threads and an allocator with one lock (lib_one_lock.c). In each round, another one of them keeps the lock until the
 * kernel says that all others sleep: that they wait is no matter of luck. Nor is for whom: who gets the lock next keeps it
 * until the one before is back from malloc. With an argument, the rounds begin at the line "go", and "quit" ends the program. */
#include "state.h"
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define THREADS 4
#define ROUNDS 8
#define SIZE 1000

extern void (*while_locked)(size_t size);

static pthread_barrier_t begin, all;
static atomic_int tids[THREADS];
static atomic_int asking[THREADS]; /* rounds in which the thread has called malloc, or is just about to */
static atomic_int back[THREADS];   /* rounds in which it has returned from there */
static atomic_int holds;           /* the round in which the lock is held, from 1 */
static int holder;                 /* the last one; guarded by the lock */

static int is_blocked(int thread, int round) {
    return atomic_load(&asking[thread]) == round && state_of(atomic_load(&tids[thread])) == 'S';
}

static void keep_the_lock(size_t size) {
    if (size != SIZE) return;
    int own = 0;
    while (atomic_load(&tids[own]) != gettid()) ++own;
    const int round = atomic_load(&asking[own]);
    if (own == round % THREADS) {
        atomic_store(&holds, round);
        for (int other = 0; other < THREADS; ++other)
            while (other != own && !is_blocked(other, round)) sched_yield();
    } else {
        while (atomic_load(&back[holder]) != round) sched_yield();
    }
    holder = own;
}

SITE static void *asks(void) { return checked(malloc(SIZE)); }

static void *thread(void *number) {
    const int own = (int)(size_t)number;
    free(checked(malloc(1))); /* the recorder gets to know the thread */
    atomic_store(&tids[own], gettid());
    pthread_barrier_wait(&begin);
    for (int round = 1; round <= ROUNDS; ++round) {
        pthread_barrier_wait(&all);
        while (own != round % THREADS && atomic_load(&holds) != round) sched_yield();
        atomic_store(&asking[own], round);
        void *block = asks();
        atomic_store(&back[own], round);
        pthread_barrier_wait(&all); /* nobody's next call comes before everybody's wait is over */
        free(block);
    }
    return NULL;
}

static void await(const char *command) {
    char line[16];
    while (fgets(line, sizeof line, stdin) && strcmp(line, command) != 0) continue;
}

int main(int count, char **arguments) {
    (void)arguments;
    const int is_asked = count > 1;
    pthread_t threads[THREADS];
    pthread_barrier_init(&all, NULL, THREADS);
    pthread_barrier_init(&begin, NULL, THREADS + is_asked);
    while_locked = keep_the_lock;
    for (size_t i = 0; i < THREADS; ++i) {
        if (pthread_create(&threads[i], NULL, thread, (void *)i)) return 1;
        while (!atomic_load(&tids[i])) sched_yield(); /* nobody waits for another one's first call */
    }
    if (is_asked) {
        say("ready\n");
        await("go\n");
        pthread_barrier_wait(&begin);
    }
    for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
    if (is_asked) {
        say("waited\n");
        await("quit\n");
        say("broken 0\n");
    }
    return 0;
}
