/* populated: mappings that the kernel fills at once, inside the call. It counts each page as a fault, but tells of none. */
#include "pages.h"

SITE static void populate(void) {
    const size_t bytes = 16384 * PAGE;
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    munmap(mapped(memory), bytes);
    STAY();
}

int main(void) {
    small_pages_only();
    for (int i = 0; i < 4; ++i) populate();
    say_faults();
    return 0;
}
