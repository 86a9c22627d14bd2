/* Forks while three other threads are in the middle of allocating. */
#include "e2e.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

static atomic_int stop;

static void *busy(void *unused) {
    while (!atomic_load(&stop)) free(checked(malloc(64)));
    return unused;
}

SITE static void child_side(void) {
    for (int i = 0; i < 10; ++i) free(checked(malloc(10)));
    STAY();
}

int main(void) {
    pthread_t threads[3];
    for (int i = 0; i < 3; ++i)
        if (pthread_create(&threads[i], NULL, busy, NULL)) return 1;
    for (int i = 0; i < 20; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            child_side();
            _exit(0);
        }
        int status;
        if (waitpid(child, &status, 0) != child || status != 0) return 2;
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
    return 0;
}
