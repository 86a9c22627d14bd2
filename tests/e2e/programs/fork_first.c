/* A fork before the first allocation of all. */
#include "e2e.h"
#include <sys/wait.h>

SITE static void parent_side(void) {
    for (int i = 0; i < 50; ++i) checked(malloc(10));
    STAY();
}
SITE static void child_side(void) {
    for (int i = 0; i < 200; ++i) checked(malloc(20));
    STAY();
}

int main(void) {
    const pid_t child = fork();
    if (child == 0) {
        child_side();
        _exit(4);
    }
    parent_side();
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) + 1 : 92;
}
