/* What a program of musl does through its C library: blocks that the library allocates for it, functions of the program that
 * the library calls, threads that end in two ways, a plugin, a child, and a program of another C library. */
#include "e2e.h"
#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>

SITE static void copies(void) {
    for (int i = 0; i < 100; ++i) keep(strdup("eleven by ten"));
    STAY();
}

SITE static int compare(const void *left, const void *right) {
    void *block = checked(malloc(24));
    free(block);
    return *(const int *)left - *(const int *)right;
}

SITE static int sorts(void) {
    int numbers[64];
    for (int i = 0; i < 64; ++i) numbers[i] = i * 37 % 64;
    qsort(numbers, 64, sizeof *numbers, compare);
    return numbers[0];
}

SITE static void of_a_thread(void) {
    for (int i = 0; i < 1000; ++i) free(checked(malloc(100)));
    keep(checked(malloc(500)));
}

static void *returns(void *unused) {
    of_a_thread();
    return unused;
}

static void *exits(void *unused) {
    of_a_thread();
    pthread_exit(unused);
}

SITE static void of_a_child(void) {
    keep(checked(malloc(700)));
    STAY();
}

int main(int argc, char **argv) {
    copies();
    if (sorts() != 0) return 1;
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i)
        if (pthread_create(&threads[i], NULL, i % 2 ? returns : exits, NULL)) return 1;
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
    if (argc < 3) return 1;
    void *plugin = dlopen(argv[1], RTLD_NOW);
    if (!plugin) return 1;
    ((void (*)(void))dlsym(plugin, "plugin_entry"))();
    const pid_t child = fork();
    if (child == 0) {
        of_a_child();
        execl(argv[2], argv[2], "3", (char *)NULL);
        _exit(127);
    }
    int status;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 1;
    _exit(40 + WEXITSTATUS(status));
}
