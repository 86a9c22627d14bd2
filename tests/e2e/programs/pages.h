/* Shared by the programs that count page faults. Each page touched is one fault: large pages are off unless a program
 * asks for them. */
#ifndef PAGES_H
#define PAGES_H

#include "e2e.h"
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define PAGE 4096L
#define HUGE (2L << 20)

/* To be called first. */
static inline void small_pages_only(void) {
    if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)) _exit(93);
}

/* Writes to the first byte of each page. */
static inline void touch(char *memory, long pages) {
    for (long page = 0; page < pages; ++page) ((volatile char *)memory)[page * PAGE] = 1;
}

/* Anonymous memory of its own, or the end of the program. */
static inline char *mapped(void *memory) {
    if (memory == MAP_FAILED) _exit(94);
    keep(memory);
    return (char *)memory;
}

/* The first call takes a heap, and touches malloc's own data in it. */
SITE static __attribute__((unused)) void warm_up(void) {
    free(checked(malloc(1)));
    STAY();
}

/* Says what the kernel has counted for this process. */
static inline void say_faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    say_number("minor", usage.ru_minflt);
    say_number("major", usage.ru_majflt);
}

/* How many huge pages the mapping has that holds `memory`. */
static inline long huge_pages_at(const char *memory) {
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[512];
    unsigned long from, to;
    long here = 0, found = 0, kib;
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2) here = from <= (unsigned long)memory && (unsigned long)memory < to;
        if (here && sscanf(line, "AnonHugePages: %ld", &kib) == 1) found = kib;
    }
    if (maps) fclose(maps);
    return found * 1024 / HUGE;
}

#endif
