/* A library to be loaded and unloaded; compiled as A and as B, of the same size but with different contents. */
#include "e2e.h"

#ifdef PLUGIN_A
#define WORK plugin_a_work
#define BLOCKS 3
#else
#define WORK plugin_b_work
#define BLOCKS 5
#endif

SITE static void WORK(void) {
    for (int i = 0; i < BLOCKS; ++i) free(checked(malloc(10 * BLOCKS)));
    STAY();
}

void plugin_entry(void) {
    WORK();
    STAY();
}
