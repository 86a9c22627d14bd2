/* loads_own_at_once: threads that load libraries with allocators of their own (lib_own_mimalloc.c), one each, call and unload them,
 * again and again, while others do the same; some fork. */
#include "e2e.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>

#define ROUNDS 4

static char **paths;

static int use(const char *path, int unload) {
    void *library = dlopen(path, RTLD_NOW);
    if (!library) abort();
    int (*work)(int) = (int (*)(int))dlsym(library, "lib_own_work");
    const int done = work(10);
    if (unload) dlclose(library);
    return done != 10;
}

static void *run(void *number) {
    const uintptr_t own = (uintptr_t)number;
    for (int i = 0; i < ROUNDS; ++i)
        if (use(paths[own], i % 2)) abort();
    if (own % 4 == 0) {
        /* A child of threads must not load: another one may have been at it. */
        int (*work)(int) = (int (*)(int))dlsym(dlopen(paths[own], RTLD_NOW), "lib_own_work");
        const pid_t child = fork();
        if (child == 0) _exit(work(10) != 10);
        int status;
        if (waitpid(child, &status, 0) != child || status) abort();
    }
    return NULL;
}

int main(int count, char **arguments) {
    pthread_t threads[32];
    paths = arguments + 1;
    const int many = count - 1;
    if (many > 32) return 1;
    for (int i = 0; i < many; ++i)
        if (pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i)) return 2;
    for (int i = 0; i < many; ++i) pthread_join(threads[i], NULL);
    return 0;
}
