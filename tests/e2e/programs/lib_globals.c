/* A library with global variables: `exported`, and one that only its symbol table names. Their names end with SUFFIX. */
#include <string.h>

#define PASTE(a, b) a##b
#define NAME(a, b) PASTE(a, b)
#define PAGES __attribute__((aligned(4096), used))

PAGES char NAME(exported_, SUFFIX)[4 << 20];
PAGES static char NAME(hidden_, SUFFIX)[1 << 20];

void NAME(fill_, SUFFIX)(void) {
    memset(NAME(exported_, SUFFIX), 1, sizeof NAME(exported_, SUFFIX));
    memset(NAME(hidden_, SUFFIX), 1, sizeof NAME(hidden_, SUFFIX));
    __asm__ volatile("" : : "r"(NAME(hidden_, SUFFIX)) : "memory");
}
