/* 8 huge pages, asked for and touched, if the kernel gives them: says how much memory it has in such pages. With an
   argument, it asks past the C library, as allocators do. */
#include "pages.h"

#include <sys/syscall.h>

#define HUGE (2L << 20)

SITE static char *asks(int quietly) {
    char *memory = mapped(mmap(0, 9 * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    char *first = (char *)(((unsigned long)memory + HUGE - 1) & ~(HUGE - 1));
    if (quietly) syscall(SYS_madvise, first, 8 * HUGE, MADV_HUGEPAGE);
    else madvise(first, 8 * HUGE, MADV_HUGEPAGE);
    return first;
}

static long huge_kib(const char *memory) {
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[512];
    unsigned long from, to;
    long here = 0, found = 0, kib;
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2) here = from <= (unsigned long)memory && (unsigned long)memory < to;
        if (here && sscanf(line, "AnonHugePages: %ld", &kib) == 1) found = kib;
    }
    if (maps) fclose(maps);
    return found;
}

int main(int count, char **arguments) {
    (void)arguments;
    char *memory = asks(count > 1);
    touch(memory, 8 * HUGE / PAGE);
    say_number("huge", huge_kib(memory) * 1024 / HUGE);
    return 0;
}
