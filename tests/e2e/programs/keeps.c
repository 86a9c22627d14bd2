/* Takes ten blocks of 40 KiB and frees nine of them; with an argument, none. */
#include "e2e.h"

#define BLOCKS 10

SITE static void *take(void) { void *block = checked(malloc(40 << 10)); STAY(); return block; }

int main(int count, char **words) {
    (void)words;
    void *blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; ++i) blocks[i] = take();
    for (int i = 1; i < BLOCKS && count == 1; ++i) free(blocks[i]);
    return 0;
}
