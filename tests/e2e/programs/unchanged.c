/* Prints what a program can see of its blocks: sizes, alignment, reuse, errors. It must look the same under memtoll. */
#include "e2e.h"
#include <errno.h>
#include <malloc.h>
#include <stdint.h>

int main(void) {
    unsigned long sum = 0;
    void *last = NULL;
    for (size_t size = 0; size < 70000; size = size * 9 / 8 + 1) {
        char *block = checked(malloc(size));
        sum = sum * 31 + malloc_usable_size(block);
        sum = sum * 31 + (uintptr_t)block % 64;
        sum = sum * 31 + (block == last); /* the block just freed, or not */
        memset(block, 0xff, malloc_usable_size(block));
        free(block);
        last = block;
    }
    say_number("sizes", (long)(sum % 1000000007));
    errno = 77; /* free leaves it alone */
    free(malloc(5000));
    say_number("errno after free", errno);
    volatile size_t huge = SIZE_MAX / 2, many = SIZE_MAX / 4;
    say_number("huge", malloc(huge) == NULL && errno == ENOMEM);
    errno = 0;
    say_number("overflow", calloc(many, 8) == NULL && errno == ENOMEM);
    errno = 0;
    say_number("array overflow", reallocarray(NULL, many, 8) == NULL && errno == ENOMEM);
    void *block = NULL;
    volatile size_t odd = 3;
    say_number("bad alignment", posix_memalign(&block, odd, 8));
    say_number("arena", (long)mallinfo2().uordblks);
    return 0;
}
