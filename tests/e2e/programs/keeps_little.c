/* Keeps a block of 100 KiB, beside mappings of its own if it has an argument. */
#include "pages.h"

int main(int count, char **arguments) {
    enum { kMapped = 8 << 20 };
    (void)arguments;
    static char *volatile kept;
    kept = checked(malloc(100 << 10));
    memset(kept, 1, 100 << 10);
    if (count > 1)
        touch(mapped(mmap(NULL, kMapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)), kMapped / PAGE);
    return 0;
}
