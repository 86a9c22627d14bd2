/* Blocks beside mappings of the program's own: how much there is of both together at one instant. */
#include "pages.h"
#include "memtoll.h"
#include <fcntl.h>
#include <sys/wait.h>

#define MIB (1L << 20)

static char *fill_in(char *memory, long bytes) {
    memset(memory, 1, (size_t)bytes);
    return memory;
}

SITE static char *map(long bytes) {
    return fill_in(mapped(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)), bytes);
}

static void unmap(char *memory, long bytes) {
    if (munmap(memory, bytes)) _exit(95);
}

SITE static void open_up(char *memory, long bytes) {
    if (mprotect(memory, bytes, PROT_READ | PROT_WRITE)) _exit(96);
    STAY();
}

/* At the most 1 MiB in a block and 9 in mappings; later, 3 MiB in a block, and then nothing but a mapping. */
SITE static void beside_blocks(void) {
    char *block = checked(malloc(MIB));
    char *first = map(8 * MIB);
    unmap(first + 2 * MIB, 4 * MIB);
    char *second = map(5 * MIB);
    free(block);
    unmap(first + 6 * MIB, 2 * MIB);
    unmap(first, 8 * MIB); /* 2 MiB of it are left */
    unmap(second, 5 * MIB);
    free(checked(malloc(3 * MIB)));
    map(6 * MIB);
    STAY();
}

/* At the most 5 MiB in a block and 2 in mappings. Neither address space nor files count, nor what mremap makes of them. */
SITE static void replaced(void) {
    char *moved = mapped(mremap(map(2 * MIB), 2 * MIB, 6 * MIB, MREMAP_MAYMOVE));
    moved = mapped(mremap(moved, 6 * MIB, MIB, 0));
    unmap(moved, MIB);
    char *space = mapped(mmap(NULL, 64 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mapped(mmap(space + MIB, 3 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
    mapped(mmap(space + 3 * MIB, 10 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
    const int file = open("/proc/self/exe", O_RDONLY);
    char *of_file = mapped(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, file, 0));
    mapped(mremap(of_file, PAGE, 128 * MIB, MREMAP_MAYMOVE));
    fill_in(space + MIB, 2 * MIB);
    checked(malloc(5 * MIB));
    STAY();
}

/* At the most 1 MiB in a block and 7 in mappings: of 64 MiB that are reserved, 4 are opened in two steps, of which the second
 * opens a part of the first once more, and 2 in another place; 1 is closed and opened again. The rest is never memory. */
SITE static void reserve(void) {
    char *space = mapped(mmap(NULL, 64 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    open_up(space + MIB, 2 * MIB);
    open_up(space + 2 * MIB, 3 * MIB);
    fill_in(space + MIB, 4 * MIB);
    open_up(space + 32 * MIB, 2 * MIB);
    fill_in(space + 32 * MIB, 2 * MIB);
    if (mprotect(space + 32 * MIB, 2 * MIB, PROT_NONE)) _exit(97);
    open_up(space + 33 * MIB, MIB);
    char *more = map(2 * MIB);
    free(checked(malloc(MIB)));
    unmap(space, 64 * MIB);
    unmap(more, 2 * MIB);
    free(checked(malloc(7 * MIB)));
    STAY();
}

/* At the most 1 MiB in a block of malloc's, 3 in one of a pool, and 5 in the rest of the mapping that the pool is in. */
SITE static void handed_out(void) {
    char *chunk = map(8 * MIB);
    memtoll_pool_begin("own", chunk, 8 * MIB);
    memtoll_alloc(chunk, 2 * MIB);
    memtoll_alloc(chunk + 2 * MIB, MIB);
    char *block = checked(malloc(MIB));
    memtoll_free(chunk);
    unmap(chunk, 8 * MIB);
    free(block);
    free(checked(malloc(7 * MIB)));
    STAY();
}

/* At the most 1 MiB in a block and 6 in mappings; 60 are only reserved then: 32 and 30 that were mapped and not touched, but for
 * 3 and 1, and 2 that were given back. 4 come at once, by MAP_POPULATE. */
SITE static void hardly_used(void) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, usable = PROT_READ | PROT_WRITE;
    char *first = mapped(mmap(NULL, 32 * MIB, usable, flags, -1, 0));
    char *second = mapped(mmap(NULL, 30 * MIB, usable, flags, -1, 0));
    madvise(first, 32 * MIB, MADV_NOHUGEPAGE);
    madvise(second, 30 * MIB, MADV_NOHUGEPAGE);
    fill_in(first + MIB, 3 * MIB);
    fill_in(second + 7 * MIB, MIB);
    if (madvise(first + 2 * MIB, 2 * MIB, MADV_DONTNEED)) _exit(98);
    mapped(mmap(NULL, 4 * MIB, usable, flags | MAP_POPULATE, -1, 0));
    fill_in(checked(malloc(MIB)), MIB);
    STAY();
}

int main(int count, char **arguments) {
    switch (count > 1 ? arguments[1][0] : '\0') {
    case 'b': beside_blocks(); break;
    case 'r': replaced(); break;
    case 'p': reserve(); break;
    case 'h': handed_out(); break;
    case 'u': hardly_used(); break;
    case 'f':
        if (fork() == 0) {
            free(checked(malloc(2 * MIB)));
            _exit(0);
        }
        wait(NULL);
        beside_blocks();
    }
    return 0;
}
