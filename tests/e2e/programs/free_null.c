/* free(NULL) by two functions, one of which also frees something. */
#include "e2e.h"

SITE static void careless(void *block) {
    free(block);
    STAY();
}

SITE static void very_careless(void) {
    for (int i = 0; i < 1000; ++i) {
        void *block = NULL;
        __asm__ volatile("" : "+r"(block));
        free(block);
    }
    STAY();
}

int main(void) {
    for (int i = 0; i < 30; ++i) careless(i % 3 == 0 ? checked(malloc(8)) : NULL);
    very_careless();
    return 0;
}
