/* A block that children inherit in other ways than by fork(): cow_ways RAW | ORPHAN | MANY. The number of pages that are
   copied is the same in each run.
     RAW     the child is made by the system call itself, without the C library's doing
     ORPHAN  the parent ends before its child writes
     MANY    200 children are alive at once, and write */
#include "pages.h"
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define CHILDREN 200

SITE static char *inherited(void) {
    char *block = checked(malloc(200 * PAGE - 64));
    touch(block, 200);
    return block;
}

static void wait_for(pid_t child) {
    int status;
    if (waitpid(child, &status, 0) != child || status != 0) _exit(92);
}

static void raw(char *block) {
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        touch(block, 80);
        _exit(0);
    }
    wait_for(child);
}

/* The grandparent hears when the grandchild is over, which is its child then. */
static void orphan(char *block) {
    int alive[2];
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 || pipe(alive) != 0) _exit(93);
    pid_t parent = fork();
    if (parent == 0) {
        pid_t child = fork();
        if (child == 0) {
            char byte;
            close(alive[1]);
            if (read(alive[0], &byte, 1) != 0) _exit(94); /* until the parent is gone */
            touch(block, 80);
            _exit(0);
        }
        _exit(0);
    }
    wait_for(parent);
    close(alive[1]);
    int status;
    while (wait(&status) > 0) {
        if (status != 0) _exit(95);
    }
}

static void many(char *block) {
    int go[2];
    if (pipe(go) != 0) _exit(93);
    pid_t children[CHILDREN];
    for (int i = 0; i < CHILDREN; ++i) {
        children[i] = fork();
        if (children[i] < 0) _exit(96);
        if (children[i] == 0) {
            char byte;
            close(go[1]);
            if (read(go[0], &byte, 1) != 0) _exit(94); /* until all are there */
            touch(block, 3);
            _exit(0);
        }
    }
    close(go[0]);
    close(go[1]);
    for (int i = 0; i < CHILDREN; ++i) wait_for(children[i]);
}

int main(int count, char **arguments) {
    small_pages_only();
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    warm_up();
    char *block = inherited();
    const char *way = count > 1 ? arguments[1] : "";
    if (strcmp(way, "RAW") == 0) raw(block);
    else if (strcmp(way, "ORPHAN") == 0) orphan(block);
    else if (strcmp(way, "MANY") == 0) many(block);
    else return 2;
    free(block);
    return 0;
}
