/* A block that both sides of a fork have: writes of either copy its pages. The children: one that allocates, one that makes
   no call of the allocator, one that releases the block and gets another one, one whose own child writes, one that executes
   another program. */
#include "pages.h"
#include <malloc.h>
#include <signal.h>
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

/* What a child gets in the place of what it released is its own. */
SITE static void takes_its_place(char *block) {
    free(block);
    block = checked(malloc(200 * PAGE - 64));
    touch(block, 30);
}
SITE static char *own_mapping(void) {
    char *pages = mapped(mmap(0, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    touch(pages, 64);
    return pages;
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
    char *pages = own_mapping();
    pid_t child = fork();
    if (child == 0) {
        touch(block, 120);
        touch(pages, 7);
        childs_own();
        say_faults();
        exit(0);
    }
    wait_for(child);
    child = fork();
    if (child == 0) {
        touch(block, 90); /* and not one call of the allocator */
        _exit(0);
    }
    wait_for(child);
    child = fork();
    if (child == 0) {
        takes_its_place(block);
        exit(0);
    }
    wait_for(child);
    child = fork();
    if (child == 0) {
        childs_own();
        pid_t grandchild = fork();
        if (grandchild == 0) {
            touch(block, 40);
            touch(pages, 5);
            childs_own();
            exit(0);
        }
        wait_for(grandchild);
        exit(0);
    }
    wait_for(child);
    child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    touch(block, 60); /* the parent's copies, while the child has the pages, too */
    kill(child, SIGKILL);
    int status;
    if (waitpid(child, &status, 0) != child) return 94;
    child = fork();
    if (child == 0) {
        execl(arguments[0], arguments[0], "again", (char *)0);
        _exit(98);
    }
    wait_for(child);
    free(block);
    return 0;
}
