/* Touches memory that no block and no mapping of the program owns, each kind a number of pages of its own. */
#include "e2e.h"
#include <pthread.h>
#include <sys/shm.h>

#define PAGE 4096
#define ZEROED 400
#define INITIALISED 200
#define CONSTANT 100
#define LOCAL 50
#define FIRST_STACK 300
#define THREAD_STACK 350
#define SHARED 60

static char zeroed[ZEROED * PAGE];
static char initialised[INITIALISED * PAGE] = {1};
static const char constant[CONSTANT * PAGE] = {1, 2};
static __thread char local[LOCAL * PAGE];

SITE static void touch(volatile char *memory, int pages) {
    for (int i = 0; i < pages; ++i) memory[(size_t)i * PAGE] = 1;
}

SITE static void deep_first(void) {
    char memory[FIRST_STACK * PAGE];
    touch(memory, FIRST_STACK);
}

SITE static void deep(void) {
    char memory[THREAD_STACK * PAGE];
    touch(memory, THREAD_STACK);
    touch(local, LOCAL);
}

static void *allocates(void *nothing) {
    deep();
    free(checked(malloc(10)));
    return nothing;
}

/* Calls no function that the recorder sees. */
static void *silent(void *nothing) {
    deep();
    return nothing;
}

int main(void) {
    volatile const char *constants = constant;
    int sum = 0;
    touch(zeroed, ZEROED);
    touch(initialised, INITIALISED);
    for (int i = 0; i < CONSTANT; ++i) sum += constants[(size_t)i * PAGE];
    deep_first();
    touch(local, LOCAL);
    const int segment = shmget(IPC_PRIVATE, SHARED * PAGE, IPC_CREAT | 0600);
    void *shared = segment < 0 ? (void *)-1 : shmat(segment, NULL, 0);
    if (shared == (void *)-1) return 1;
    shmctl(segment, IPC_RMID, NULL);
    touch(shared, SHARED);
    pthread_t threads[2];
    if (pthread_create(&threads[0], NULL, allocates, NULL)) return 2;
    if (pthread_create(&threads[1], NULL, silent, NULL)) return 3;
    for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
    return sum < 0;
}
