/* Allocates at each of 20,000 levels. */
#include "e2e.h"

SITE static void down(int levels) {
    void *block = checked(malloc(10));
    if (levels > 1) down(levels - 1);
    free(block);
    STAY();
}

int main(void) {
    down(20000);
    return 0;
}
