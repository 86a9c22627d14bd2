/* Touches 128 huge pages, once each, and does nothing else. Says how many the kernel gave and the CPU time that this took, ns: all
 * but nothing of it in the kernel, whose own clock for that has ticks of some milliseconds. */
#include "pages.h"

#include <time.h>

#define PAGES 128

SITE static char *asks(void) {
    char *memory = mapped(mmap(0, (PAGES + 1) * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    char *first = (char *)(((unsigned long)memory + HUGE - 1) & ~(HUGE - 1));
    madvise(first, PAGES * HUGE, MADV_HUGEPAGE);
    return first;
}

static long used(void) {
    struct timespec time;
    if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)) _exit(90);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

int main(void) {
    char *memory = asks();
    const long before = used();
    for (long i = 0; i < PAGES; ++i) memory[i * HUGE] = 1;
    const long took = used() - before;
    say_number("huge", huge_pages_at(memory));
    say_number("took", took);
    return 0;
}
