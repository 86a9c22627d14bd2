/* Mappings of the program's own: events, but no allocations. */
#include "e2e.h"
#include <sys/mman.h>

int main(void) {
    const size_t page = 4096;
    char *area = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED) return 1;
    area[0] = 1;
    area = mremap(area, 4 * page, 64 * page, MREMAP_MAYMOVE);
    if (area == MAP_FAILED || area[0] != 1) return 2;
    if (mprotect(area, page, PROT_READ) || pkey_mprotect(area, page, PROT_READ | PROT_WRITE, -1)) return 7;
    if (madvise(area, page, MADV_DONTNEED) || area[0] != 0) return 3;
    char *other = mmap64(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (other == MAP_FAILED || munmap(other, page) || munmap(area, 64 * page)) return 4;
    char *end = sbrk(0);
    if (brk(end + 16 * page) || (char *)sbrk(0) - end != (long)(16 * page)) return 5;
    if (sbrk(-(long)(16 * page)) != end + 16 * page) return 6;
    return 0;
}
