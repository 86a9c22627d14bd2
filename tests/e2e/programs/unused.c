/* A large block of which little is touched, and one that is taken from the system and given back 50 times. */
#include "pages.h"
#include <malloc.h>

SITE static void hardly_touched(void) {
    char *memory = checked(malloc(64 << 20));
    touch(memory, 700);
    STAY();
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
    return 0;
}
