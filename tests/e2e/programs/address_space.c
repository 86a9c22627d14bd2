/* Has an address space that is nearly full, and allocates until there is nothing left. */
#include "e2e.h"
#include <errno.h>
#include <sys/resource.h>

SITE static void *piece(void) { return malloc((size_t)1 << 20); }

int main(void) {
    const struct rlimit most = {400 << 20, 400 << 20};
    if (setrlimit(RLIMIT_AS, &most)) return 1;
    long pieces = 0;
    while (pieces < 1000 && piece()) ++pieces;
    say_number("out of memory", pieces < 400 && errno == ENOMEM);
    for (int i = 0; i < 100000; ++i) {
        void *block = malloc(8); /* may be null now */
        keep(block);
        free(block);
    }
    return 0;
}
