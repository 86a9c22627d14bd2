/* sizes [FACTOR]: known numbers of blocks of known sizes; FACTOR more of the middle ones. */
#include "e2e.h"

SITE static void small_ones(void) {
    for (int i = 0; i < 300; ++i) free(checked(malloc(8)));
    STAY();
}
SITE static void middle_ones(int factor) {
    for (int i = 0; i < 100 * factor; ++i) free(checked(malloc(500)));
    STAY();
}
SITE static void large_ones(void) {
    for (int i = 0; i < 10; ++i) checked(malloc(100000));
    STAY();
}

int main(int argc, char **argv) {
    small_ones();
    middle_ones(argc > 1 ? atoi(argv[1]) : 1);
    large_ones();
    return 0;
}
