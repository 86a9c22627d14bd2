/* Memory of which little is touched, and a block that is taken from the system and given back 200 times. */
#include "pages.h"
#include <malloc.h>

SITE static void hardly_touched(void) {
    char *memory = checked(malloc(64 << 20));
    touch(memory, 700);
    STAY();
}

SITE static char *map(long bytes, int protection) {
    return mapped(mmap(0, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

/* The address space that is reserved is not asked for as memory. */
SITE static void maps(void) {
    map(1L << 30, PROT_NONE);
    char *memory = map(32 << 20, PROT_READ | PROT_WRITE);
    touch(memory, 300);
    touch(mapped(mremap(memory, 32 << 20, 96 << 20, MREMAP_MAYMOVE)), 500);
}

SITE static void again_and_again(void) {
    for (int i = 0; i < 200; ++i) {
        char *memory = checked(malloc(4 << 20));
        touch(memory, 1024);
        free(memory);
    }
    STAY();
}

int main(void) {
    small_pages_only();
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    warm_up();
    again_and_again();
    hardly_touched();
    maps();
    return 0;
}
