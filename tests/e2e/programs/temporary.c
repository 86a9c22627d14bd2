/* A block is temporary if it is freed before its thread allocates again. */
#include "e2e.h"

SITE static void churn(void) { /* 1,000 temporary ones */
    for (int i = 0; i < 1000; ++i) free(checked(malloc(64)));
    STAY();
}

SITE static void *first(void) { return checked(malloc(32)); }  /* never temporary: second() allocates meanwhile */
SITE static void *second(void) { return checked(malloc(32)); } /* always temporary */

SITE static void kept(void) {
    for (int i = 0; i < 7; ++i) checked(malloc(16)); /* never freed */
    STAY();
}

int main(void) {
    churn();
    for (int i = 0; i < 100; ++i) {
        void *a = first(), *b = second();
        free(b);
        free(a);
    }
    kept();
    return 0;
}
