/* Fresh memory that is first read, page by page, and then written: the kernel shows the zero page first, and clears a page
   of its own when it is written. */
#include "pages.h"
#include <malloc.h>

SITE static void read_first(void) {
    volatile char *block = checked(calloc(1, 500 * PAGE - 64));
    for (long page = 0; page < 500; ++page) (void)block[page * PAGE];
    touch((char *)block, 500);
    free((void *)block);
}

SITE static void written_at_once(void) {
    char *block = checked(calloc(1, 500 * PAGE - 64));
    touch(block, 500);
    free(block);
}

int main(void) {
    small_pages_only();
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    warm_up();
    for (int i = 0; i < 4; ++i) {
        read_first();
        written_at_once();
    }
    return 0;
}
