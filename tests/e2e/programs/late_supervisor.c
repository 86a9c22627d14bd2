/* Takes more page faults than the kernel's rings hold while memtoll, its parent, is stopped. */
#include "pages.h"
#include <signal.h>

#define BLOCKS 20
#define PAGES 12000L

SITE static void storms(void) {
    for (int i = 0; i < BLOCKS; ++i) {
        char *block = checked(malloc(PAGES * PAGE)); /* mapped by malloc */
        touch(block, PAGES);
        free(block);
    }
    STAY();
}

int main(void) {
    small_pages_only();
    warm_up();
    if (kill(getppid(), SIGSTOP)) return 1;
    storms();
    if (kill(getppid(), SIGCONT)) return 2;
    say_faults();
    return 0;
}
