/* noisy [CALLS]: allocations of random sizes, whose record does not compress well. Exits with 7. */
#include "e2e.h"

static void *blocks[1024];

SITE static void *noise(unsigned random) { return checked(malloc(1 + random % 5000)); }

int main(int argc, char **argv) {
    unsigned long random = 88172645463325252;
    for (long left = argc > 1 ? atol(argv[1]) : 300000; left > 0; --left) {
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        void **slot = &blocks[random % 1024];
        free(*slot);
        *slot = noise((unsigned)(random >> 20));
    }
    say("noise made\n");
    return 7;
}
