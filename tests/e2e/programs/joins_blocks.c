/* 400,000 small blocks are freed, out of their order, which glibc keeps as they are. The first call for a large block joins them. */
#include "e2e.h"

enum { SMALL = 400000 };

static void *blocks[SMALL];

SITE void make_small(void) {
    for (int i = 0; i < SMALL; ++i) blocks[i] = checked(malloc(24));
    for (long i = 0; i < SMALL; ++i) free(blocks[i * 7919 % SMALL]);
}

SITE void make_large(void) {
    void *large = checked(malloc(100000));
    keep(large);
    free(large);
}

int main(void) {
    make_small();
    make_large();
    return 0;
}
