/* Touches 128 huge pages, once each, and does nothing else. Says how many the kernel gave and how long the program was in the
 * kernel for that, microseconds. */
#include "pages.h"

#include <sys/resource.h>

#define PAGES 128

SITE static char *asks(void) {
    char *memory = mapped(mmap(0, (PAGES + 1) * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    char *first = (char *)(((unsigned long)memory + HUGE - 1) & ~(HUGE - 1));
    madvise(first, PAGES * HUGE, MADV_HUGEPAGE);
    return first;
}

static struct rusage used(void) {
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage)) _exit(90);
    return usage;
}

int main(void) {
    char *memory = asks();
    const struct rusage before = used();
    for (long i = 0; i < PAGES; ++i) memory[i * HUGE] = 1;
    const struct rusage after = used();
    say_number("huge", huge_pages_at(memory));
    say_number("system", (after.ru_stime.tv_sec - before.ru_stime.tv_sec) * 1000000L + after.ru_stime.tv_usec -
                             before.ru_stime.tv_usec);
    return 0;
}
