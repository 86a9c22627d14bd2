/* reads_disk FILE: makes a file of 4 MiB, has its pages leave the memory, and touches each of them in a mapping. Prints how many
 * of these touches waited for the disk, none where the file lies in memory, how long (ns): the time but for the CPU's, and how often the
 * thread left the processor for that: not where the disk had answered before. */
#include "pages.h"
#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>

#define PAGES 1024

SITE static const char *map_file(const char *path) {
    const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    static char page[PAGE];
    for (int i = 0; i < PAGES; ++i)
        if (write(file, page, PAGE) != PAGE) _exit(96);
    if (fsync(file) || posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED)) _exit(97);
    const char *memory = mapped(mmap(NULL, PAGES * PAGE, PROT_READ, MAP_PRIVATE, file, 0));
    if (madvise((void *)memory, PAGES * PAGE, MADV_RANDOM)) _exit(98);
    return memory;
}

static struct rusage used(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage;
}

static long nanoseconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static long off_cpu(void) { return nanoseconds(CLOCK_MONOTONIC) - nanoseconds(CLOCK_THREAD_CPUTIME_ID); }

int main(int count, char **arguments) {
    if (count != 2) return 1;
    const volatile char *memory = map_file(arguments[1]);
    const struct rusage before = used();
    const long began = off_cpu();
    for (long i = 0; i < PAGES; ++i) (void)memory[i * PAGE];
    const long waited = off_cpu() - began;
    const struct rusage after = used();
    say_number("major", after.ru_majflt - before.ru_majflt);
    say_number("waited", waited);
    say_number("left", after.ru_nvcsw - before.ru_nvcsw);
    return 0;
}
