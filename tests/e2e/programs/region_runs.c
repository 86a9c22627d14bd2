/* Regions with known numbers of allocations and pages: the n-th "frame" allocates n blocks and touches 10 n pages. */
#include "memtoll.h"
#include "pages.h"
#include <malloc.h>

SITE static void frame(int number) {
    for (int i = 0; i < number; ++i) {
        char *block = checked(malloc(40 * PAGE));
        touch(block, 10);
        free(block);
    }
}

int main(void) {
    small_pages_only();
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    warm_up();
    for (int number = 1; number <= 20; ++number) {
        memtoll_region_begin("frame");
        frame(number);
        memtoll_region_end("frame");
    }
    memtoll_region_begin("load");
    frame(3);
    memtoll_region_end("load");
    return 0;
}
