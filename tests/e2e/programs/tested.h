/* Blocks that are made and freed, for tests in several frameworks. */
#pragma once
#include <stdlib.h>

static inline void make_blocks(int number) {
    for (int i = 0; i < number; i++) {
        void *volatile block = malloc(100);
        free(block);
    }
}
