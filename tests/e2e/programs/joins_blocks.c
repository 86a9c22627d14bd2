/* 400,000 small blocks are freed, which glibc keeps as they are. The first call for a large block puts them together. */
#include "e2e.h"

enum { SMALL = 400000 };

static void *blocks[SMALL];

SITE void make_small(void) {
    for (int i = 0; i < SMALL; ++i) blocks[i] = checked(malloc(24));
    for (int i = 0; i < SMALL; ++i) free(blocks[i]);
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
