/* Memory that one function asks for, and others touch first: one of them by itself, one with memset. */
#include "pages.h"

#define HALF (16L << 20)

SITE static char *arena(void) {
    return mapped(mmap(NULL, 2 * HALF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

SITE static void writes(char *memory) {
    for (long at = 0; at < HALF; at += PAGE) ((volatile char *)memory)[at] = 1;
}

SITE static void clears(char *memory) {
    memset(memory, 1, HALF);
    keep(memory);
}

int main(void) {
    char *memory = arena();
    /* Smaller pages: as many faults in each half. */
    if (madvise(memory, 2 * HALF, MADV_NOHUGEPAGE)) say("huge pages\n");
    clears(memory);
    writes(memory + HALF);
    return 0;
}
