/* killed FILE MICROSECONDS: allocates without end, on two threads, and is killed by SIGKILL at that instant. FILE holds
 * two counters of finished calls, in memory that outlives the process. */
#include "e2e.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

static volatile long *finished;

SITE static void *main_block(void) { return checked(malloc(10)); }
SITE static void *other_block(void) { return checked(malloc(20)); }

static void *other(void *unused) {
    for (;;) {
        void *block = other_block();
        ++finished[1];
        free(block);
    }
    return unused;
}

static void *killer(void *microseconds) {
    usleep((useconds_t)(size_t)microseconds);
    kill(getpid(), SIGKILL);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 3) return 1;
    const int fd = open(argv[1], O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, 16)) return 2;
    finished = mmap(NULL, 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    pthread_t threads[2];
    if (pthread_create(&threads[0], NULL, other, NULL)) return 3;
    if (pthread_create(&threads[1], NULL, killer, (void *)(size_t)atol(argv[2]))) return 3;
    for (;;) {
        void *block = main_block();
        ++finished[0];
        free(block);
    }
}
