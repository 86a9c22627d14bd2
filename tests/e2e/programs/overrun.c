/* overrun FUNCTION BYTES: fills a block of 100 bytes from FUNCTION, and BYTES behind it. For the debug heap of
 * casestudies/serializer. */
#include "e2e.h"

static void* allocate(const char* function) {
    void* block = NULL;
    if (!strcmp(function, "malloc")) return malloc(100);
    if (!strcmp(function, "calloc")) return calloc(10, 10);
    if (!strcmp(function, "realloc")) return realloc(malloc(300), 100);
    if (!strcmp(function, "aligned_alloc")) return aligned_alloc(64, 100);
    if (!strcmp(function, "posix_memalign") && posix_memalign(&block, 64, 100) == 0) return block;
    return NULL;
}

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    char* block = checked(allocate(argv[1]));
    for (char *volatile p = block, *volatile end = block + 100 + atoi(argv[2]); p < end; ++p) *p = 1;
    free(block);
    free(NULL);
    return 0;
}
