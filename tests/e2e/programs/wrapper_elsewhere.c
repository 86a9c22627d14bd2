// A function that has the name of another program's wrapper of malloc, but allocates for itself; and a child whose peak is over
// before its parent's begins.
#include "e2e.h"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

SITE static void *own_alloc(size_t size) { void *block = checked(malloc(size)); STAY(); return block; }
SITE static void large(void) { free(own_alloc(1 << 20)); STAY(); }

int main(void) {
    for (int i = 0; i < 500; ++i) free(own_alloc(10));
    pid_t child = fork();
    if (child == 0) {
        large();
        _exit(0);
    }
    waitpid(child, NULL, 0);
    large();
    return 0;
}
