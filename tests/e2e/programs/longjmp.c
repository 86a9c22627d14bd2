/* longjmp over frames that allocated; the next allocations come from other frames at the same depth. */
#include "e2e.h"
#include <setjmp.h>

static jmp_buf back;

SITE static void deep_leaf(void) {
    free(checked(malloc(10)));
    longjmp(back, 1);
}
SITE static void deep(int levels) {
    volatile char room[64];
    room[0] = 1;
    free(checked(malloc(20)));
    if (levels == 0) deep_leaf();
    else deep(levels - 1);
    if (room[0] != 1) _exit(92);
}
SITE static void other_leaf(void) { free(checked(malloc(30))); STAY(); }
SITE static void other(int levels) {
    volatile char room[64];
    room[0] = 1;
    if (levels == 0) other_leaf();
    else other(levels - 1);
    if (room[0] != 1) _exit(92);
}

int main(void) {
    volatile int jumps = 0;
    for (volatile int i = 0; i < 300; ++i) {
        if (setjmp(back) == 0) deep(9);
        ++jumps;
        other(i % 10);
    }
    say_number("jumps", jumps);
    return 0;
}
