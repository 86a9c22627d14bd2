/* populated [madvise]: memory that the kernel fills at once, inside the call, 65,536 pages in all; it counts each as a fault,
 * but tells of none. Then 0.2 seconds of other work. */
#include "pages.h"
#include <time.h>

#define BYTES (16384 * PAGE)

SITE static void populate(int flags, int advice) {
    char *memory = mapped(mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0));
    if (advice && madvise(memory, BYTES, advice)) _exit(95);
    munmap(memory, BYTES);
    STAY();
}

SITE static void work(void) {
    const clock_t end = clock() + CLOCKS_PER_SEC / 5; /* processor time */
    while (clock() < end) STAY();
}

int main(int argc, char **argv) {
    enum { POPULATE_WRITE = 23 }; /* Linux 5.14 */
    (void)argv;
    small_pages_only();
    for (int i = 0; i < 4; ++i) argc > 1 ? populate(0, POPULATE_WRITE) : populate(MAP_POPULATE, 0);
    say_faults();
    work();
    return 0;
}
