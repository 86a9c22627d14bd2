/* Three phases of a known size with pauses in between, and a block that is live only in the second. */
#include "e2e.h"

SITE static void early(void) {
    for (int i = 0; i < 10; ++i) free(checked(malloc(10)));
    STAY();
}
SITE static void *middle(void) { return checked(malloc(1000)); }
SITE static void late(void) {
    for (int i = 0; i < 30; ++i) free(checked(malloc(30)));
    STAY();
}

int main(void) {
    early();
    usleep(300000);
    void *blocks[20];
    for (int i = 0; i < 20; ++i) blocks[i] = middle();
    usleep(300000);
    for (int i = 0; i < 20; ++i) free(blocks[i]);
    late();
    return 0;
}
