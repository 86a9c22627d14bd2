/* loads_own: a library with an allocator of its own (lib_own_mimalloc.c) that is loaded, called at once, unloaded and loaded
 * again; in a forked child; and after the program has executed itself. */
#include "e2e.h"
#include <dlfcn.h>
#include <sys/wait.h>

static int use(const char *path, int blocks) {
    void *library = dlopen(path, RTLD_NOW);
    if (!library) return 1;
    int (*work)(int) = (int (*)(int))dlsym(library, "lib_own_work");
    const int done = work(blocks);
    dlclose(library);
    return done != blocks;
}

int main(int count, char **arguments) {
    if (count < 2) return 2;
    if (count > 2) return use(arguments[1], 40); /* executed again */
    for (int i = 0; i < 3; ++i)
        if (use(arguments[1], 10)) return 3;
    const pid_t child = fork();
    if (child == 0) _exit(use(arguments[1], 20));
    int status;
    if (waitpid(child, &status, 0) != child || status) return 4;
    execl("/proc/self/exe", "again", arguments[1], "again", (char *)NULL);
    return 5;
}
