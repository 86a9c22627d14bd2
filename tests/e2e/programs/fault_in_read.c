/* The kernel touches 400 pages of a fresh block, inside one system call. */
#include "pages.h"
#include <fcntl.h>
#include <malloc.h>

SITE static char *buffer(void) {
    char *block = checked(malloc(400 * PAGE - 64));
    return block;
}

int main(void) {
    small_pages_only();
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    warm_up();
    char *block = buffer();
    const int zero = open("/dev/zero", O_RDONLY);
    if (read(zero, block, 400 * PAGE - 64) != 400 * PAGE - 64) _exit(99);
    say_faults();
    return 0;
}
