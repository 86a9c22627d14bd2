/* Marks and regions around known numbers of allocations. */
#include "e2e.h"
#include "memtoll.h"

SITE static void allocate(int blocks) {
    for (int i = 0; i < blocks; ++i) free(checked(malloc(10)));
    STAY();
}

int main(void) {
    allocate(5);
    memtoll_mark("loaded");
    allocate(100);
    memtoll_region_begin("frame");
    allocate(30);
    memtoll_region_end("frame");
    memtoll_mark("played");
    allocate(7);
    return 0;
}
