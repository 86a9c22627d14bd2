/* loads_own_at_work: loads a library with an allocator of its own (lib_own_mimalloc.c), then another one while a thread is at work.
 * The first is called before, after, and in a child. */
#include "e2e.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

static atomic_int turns;

static void *turn(void *unused) {
    while (atomic_load(&turns) >= 0) atomic_fetch_add(&turns, atomic_load(&turns) < 1000);
    return unused;
}

typedef int (*Work)(int);

static Work load(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    if (!library) abort();
    return (Work)dlsym(library, "lib_own_work");
}

int main(int count, char **paths) {
    if (count != 3) return 1;
    const Work first = load(paths[1]);
    if (first(10) != 10) return 2;
    pthread_t thread;
    if (pthread_create(&thread, NULL, turn, NULL)) return 3;
    while (atomic_load(&turns) == 0) {}
    const Work second = load(paths[2]);
    if (second(10) != 10 || first(10) != 10) return 4;
    atomic_store(&turns, -2000);
    pthread_join(thread, NULL);
    const pid_t child = fork();
    if (child == 0) _exit(first(10) != 10);
    int status;
    return waitpid(child, &status, 0) != child || status;
}
