/* Has some MiB in memory, in one of several ways; small blocks from many places make the recorder's own memory grow.
 * resident PLAIN|EARLY|DEEP|THREADS|FORKS|EXEC MIB */
#include "e2e.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 40, CHILDREN = 3 };

/* Its own call site for each path of zeros and ones to it. */
static SITE void descend(unsigned path, int depth);
static SITE void zero(unsigned path, int depth) {
    descend(path, depth);
    STAY();
}
static SITE void one(unsigned path, int depth) {
    descend(path, depth);
    STAY();
}
static SITE void descend(unsigned path, int depth) {
    if (depth == 0) free(checked(malloc(24)));
    else if (path & 1) one(path >> 1 | path << 31, depth - 1);
    else zero(path >> 1 | path << 31, depth - 1);
    STAY();
}

static void many_places(unsigned places) {
    for (unsigned round = 0; round < 3; ++round)
        for (unsigned path = 0; path < places; ++path) descend(path * 2654435761u >> 8, 24);
}

static char *fill(long bytes) {
    char *memory = checked(malloc((size_t)bytes));
    memset(memory, 1, (size_t)bytes);
    keep(memory);
    return memory;
}

static pthread_barrier_t all_there;

static void *thread(void *bytes) {
    char *memory = fill((long)bytes);
    many_places(500);
    pthread_barrier_wait(&all_there);
    free(memory);
    return NULL;
}

int main(int count, char **words) {
    if (count != 3) return 2;
    const long bytes = atol(words[2]) << 20;
    if (!strcmp(words[1], "PLAIN")) {
        many_places(20000);
        free(fill(bytes));
    } else if (!strcmp(words[1], "DEEP")) {
        for (unsigned path = 0; path < 3000; ++path) descend(path * 2654435761u, 120);
        free(fill(bytes));
    } else if (!strcmp(words[1], "EARLY")) {
        free(fill(bytes));
        many_places(20000);
    } else if (!strcmp(words[1], "THREADS")) {
        pthread_t threads[THREADS];
        pthread_barrier_init(&all_there, NULL, THREADS);
        for (int i = 0; i < THREADS; ++i)
            if (pthread_create(&threads[i], NULL, thread, (void *)(bytes / THREADS))) return 3;
        for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
    } else if (!strcmp(words[1], "EXEC")) {
        free(fill(bytes)); /* the program after this one has less */
        execl(words[0], words[0], "PLAIN", "20", (char *)NULL);
        return 6;
    } else {
        many_places(2000);
        char *memory = fill(bytes / 2);
        for (int i = 0; i < CHILDREN; ++i) {
            const pid_t child = fork();
            if (child < 0) return 4;
            if (child == 0) {
                memset(memory, 2, (size_t)bytes / 2);
                free(fill(bytes / 2));
                many_places(2000);
                return 0;
            }
        }
        for (int i = 0; i < CHILDREN; ++i)
            if (wait(NULL) < 0) return 5;
    }
    return 0;
}
