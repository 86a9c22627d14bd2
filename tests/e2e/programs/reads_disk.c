/* reads_disk FILE: makes a file of 4 MiB, has its pages leave the memory, and touches each of them in a mapping. Prints how many
 * of these touches waited for the disk: none where the file lies in memory. */
#include "pages.h"
#include <fcntl.h>
#include <sys/resource.h>

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

static long major_faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_majflt;
}

int main(int count, char **arguments) {
    if (count != 2) return 1;
    const volatile char *memory = map_file(arguments[1]);
    const long before = major_faults();
    for (long i = 0; i < PAGES; ++i) (void)memory[i * PAGE];
    say_number("major", major_faults() - before);
    return 0;
}
