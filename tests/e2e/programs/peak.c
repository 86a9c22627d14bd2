/* 10 blocks of 1 MiB, 5 of them given back, 3 more: at most 10 live at once, 8 at the end. One of 64 MiB in between,
 * when 2 are live: the peak is 66 MiB. */
#include "e2e.h"

#define MIB ((size_t)1 << 20)

SITE static void *one(void) { return checked(malloc(MIB)); }
SITE static void *large(void) { return checked(malloc(64 * MIB)); }

int main(void) {
    void *blocks[10];
    for (int i = 0; i < 10; ++i) {
        blocks[i] = one();
        if (i == 1) free(large());
    }
    for (int i = 0; i < 5; ++i) free(blocks[i]);
    for (int i = 0; i < 3; ++i) one();
    return 0;
}
