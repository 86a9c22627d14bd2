/* After a fork both sides go on allocating; the child frees what it inherited, and forks again. */
#include "e2e.h"
#include <sys/wait.h>

SITE static void before_fork(void **blocks) {
    for (int i = 0; i < 50; ++i) blocks[i] = checked(malloc(10));
    STAY();
}
SITE static void parent_side(void) {
    for (int i = 0; i < 100; ++i) checked(malloc(20));
    STAY();
}
SITE static void child_side(void) {
    for (int i = 0; i < 200; ++i) checked(malloc(30));
    STAY();
}
SITE static void grandchild_side(void) {
    for (int i = 0; i < 300; ++i) checked(malloc(40));
    STAY();
}

static int wait_for(pid_t child) {
    int status;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) _exit(92);
    return WEXITSTATUS(status);
}

int main(void) {
    void *blocks[50];
    before_fork(blocks);
    const pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 50; ++i) free(blocks[i]);
        const pid_t grandchild = fork();
        if (grandchild == 0) {
            grandchild_side();
            _exit(4);
        }
        child_side();
        exit(wait_for(grandchild) + 1);
    }
    parent_side();
    return wait_for(child) + 1;
}
