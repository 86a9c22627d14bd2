/* address_space: fills its address space (400 MiB more than it has) and goes on; the limit comes after the first allocation.
 * address_space early: before it. address_space PIECES: sets no limit, and tells how many pieces of 1 MiB it gets. */
#include "e2e.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

SITE static void *piece(void) {
    void *block = malloc((size_t)1 << 20);
    STAY();
    return block;
}

/* Of the address space, in bytes; as the system counts them for the limit. */
static size_t in_use(void) {
    char text[64] = "";
    const int fd = open("/proc/self/statm", O_RDONLY);
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0 || close(fd)) _exit(92);
    return strtoul(text, NULL, 10) * 4096;
}

int main(int argc, char **argv) {
    const int early = argc > 1 && strcmp(argv[1], "early") == 0;
    const long wanted = argc > 1 && !early ? atol(argv[1]) : 1000;
    if (!early) free(checked(malloc(8)));
    if (argc < 2 || early) {
        const size_t bytes = in_use() + (400u << 20);
        const struct rlimit most = {bytes, bytes};
        if (setrlimit(RLIMIT_AS, &most)) return 1;
    }
    long pieces = 0;
    while (pieces < wanted && piece()) ++pieces;
    if (argc > 1 && !early) {
        say_number("pieces", pieces);
        return 0;
    }
    say_number("out of memory", pieces < 400 && errno == ENOMEM);
    for (int i = 0; i < 100000; ++i) {
        void *block = malloc(8); /* may be null now */
        keep(block);
        free(block);
    }
    return 0;
}
