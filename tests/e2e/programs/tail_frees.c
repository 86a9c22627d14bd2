/* Counted references whose last user frees what usually is not there: `drop` ends with a jump to free, so stacks go from free
 * right to the six lines that call it. */
#include "e2e.h"

struct counted {
    int references;
    void *more;
};

SITE static void drop(struct counted *it) {
    if (--it->references > 0) return;
    free(it->more); /* what usually is not there */
}

#define USER(NAME)                                                                                                                 \
    SITE static void NAME(struct counted *it) {                                                                                    \
        it->references = 1;                                                                                                        \
        drop(it);                                                                                                                  \
        STAY();                                                                                                                    \
    }
USER(first)
USER(second)
USER(third)
USER(fourth)
USER(fifth)
USER(sixth)

int main(void) {
    struct counted it = {0, NULL};
    for (int i = 0; i < 50000; ++i) {
        first(&it);
        second(&it);
        third(&it);
        fourth(&it);
        fifth(&it);
        sixth(&it);
    }
    return 0;
}
