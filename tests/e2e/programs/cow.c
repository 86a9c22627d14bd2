/* A block that both sides of a fork have: the child's writes copy its pages. Then a fork and an exec. */
#include "pages.h"
#include <malloc.h>
#include <sys/wait.h>

SITE static char *inherited(void) {
    char *block = checked(malloc(200 * PAGE - 64));
    touch(block, 200);
    return block;
}
SITE static void childs_own(void) {
    char *block = checked(malloc(50 * PAGE - 64));
    touch(block, 50);
    free(block);
}
SITE static void after_exec(void) {
    char *block = checked(malloc(70 * PAGE - 64));
    touch(block, 70);
    free(block);
}

static void wait_for(pid_t child) {
    int status;
    if (waitpid(child, &status, 0) != child || status != 0) _exit(92);
}

int main(int count, char **arguments) {
    small_pages_only();
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    warm_up();
    if (count > 1) {
        after_exec();
        return 0;
    }
    char *block = inherited();
    pid_t child = fork();
    if (child == 0) {
        touch(block, 120);
        childs_own();
        say_faults();
        exit(0);
    }
    wait_for(child);
    child = fork();
    if (child == 0) {
        execl(arguments[0], arguments[0], "again", (char *)0);
        _exit(98);
    }
    wait_for(child);
    free(block);
    return 0;
}
