/* A library that knows nothing of the allocator that it gets. */
#include "e2e.h"

void library_work(void);

SITE void library_work(void) {
    for (int i = 0; i < 50; ++i) {
        void *block = checked(malloc(30));
        if (i % 2) free(block);
    }
    STAY();
}

/* Ends with a jump to free, which then seems to be called by the executable. */
void library_release(void *block);
void library_release(void *block) { free(block); }
