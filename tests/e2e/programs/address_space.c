/* address_space FUNCTION: limits its address space to 450 MiB with one of setrlimit, setrlimit64, prlimit and prlimit64, fills
 * it and goes on; the limit comes after the first allocation.
 * address_space early: before it. address_space PIECES: sets no limit, and tells how many pieces of 1 MiB it gets. */
#include "e2e.h"
#include <errno.h>
#include <sys/resource.h>

SITE static void *piece(void) {
    void *block = malloc((size_t)1 << 20);
    STAY();
    return block;
}

static int set_limit(const char *function) {
    const struct rlimit limit = {450 << 20, 450 << 20};
    const struct rlimit64 limit64 = {450 << 20, 450 << 20};
    if (strcmp(function, "setrlimit64") == 0) return setrlimit64(RLIMIT_AS, &limit64);
    if (strcmp(function, "prlimit") == 0) return prlimit(0, RLIMIT_AS, &limit, NULL);
    if (strcmp(function, "prlimit64") == 0) return prlimit64(getpid(), RLIMIT_AS, &limit64, NULL);
    return setrlimit(RLIMIT_AS, &limit);
}

int main(int argc, char **argv) {
    if (argc != 2) return 1;
    const long number = atol(argv[1]);
    if (strcmp(argv[1], "early") != 0) free(checked(malloc(8)));
    if (number == 0 && set_limit(argv[1])) return 2;
    long pieces = 0;
    while ((number == 0 || pieces < number) && piece()) ++pieces;
    if (number) {
        say_number("pieces", pieces);
        return 0;
    }
    say_number("room", pieces > 350);
    say_number("out of memory", pieces < 450 && errno == ENOMEM);
    for (int i = 0; i < 100000; ++i) {
        void *block = malloc(8); /* may be null now */
        keep(block);
        free(block);
    }
    return 0;
}
