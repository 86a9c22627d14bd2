/* What realloc can mean; with an argument, also what it means when it fails. */
#include "e2e.h"

static char *volatile unrelated; /* keeps a block from growing in place */

SITE static char *from_null(void) { return checked(realloc(NULL, 100)); } /* an allocation */

SITE static char *grow(char *block) {
    memset(block, 7, 100);
    unrelated = checked(malloc(50));
    block = checked(realloc(block, 100000)); /* moves */
    free(unrelated);
    if (block[0] != 7 || block[99] != 7) _exit(92);
    return block;
}

SITE static char *shrink(char *block) { return checked(realloc(block, 10)); }
SITE static char *as_array(char *block) { return checked(reallocarray(block, 30, 10)); }

SITE static char *to_zero(char *block) {
    block = realloc(block, 0); /* frees */
    STAY();
    return block;
}

SITE static void *too_much(char *block) {
    volatile size_t size = (size_t)1 << 46; /* more than there is: the old block stays */
    void *moved = realloc(block, size);
    STAY();
    return moved;
}

int main(int argc, char **argv) {
    (void)argv;
    for (int i = 0; i < 10; ++i) to_zero(as_array(shrink(grow(from_null()))));
    if (argc < 2) return 0;
    char *kept = from_null();
    if (too_much(kept) != NULL) return 1;
    kept[99] = 1;
    return 0;
}
