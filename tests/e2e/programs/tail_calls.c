/* In the optimised build `wrapper` jumps to malloc and its frame is gone: the call belongs to `caller`. */
#include "e2e.h"

SITE static void *wrapper(size_t size) { return malloc(size); }
SITE static void *outer_wrapper(size_t size) { return wrapper(size + 1); }

SITE static void caller(void) {
    for (int i = 0; i < 100; ++i) free(checked(outer_wrapper(20)));
    STAY();
}

int main(void) {
    caller();
    return 0;
}
