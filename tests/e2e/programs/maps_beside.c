/* Maps three times 1 MiB, beside what its allocator (lib_mapping_heap.c) maps. */
#include <sys/mman.h>
#include "e2e.h"

SITE static char *maps(void) {
    char *memory = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 1, 1 << 20);
    STAY();
    return memory;
}

int main(void) {
    for (int i = 0; i < 3; ++i) maps();
    free(checked(malloc(100)));
    return 0;
}
