/* A library that frees a thousand blocks itself and gives a thousand away. */
#include "e2e.h"

void lib_run(int blocks);
char *lib_give(void);

SITE char *lib_make(size_t size);
SITE char *lib_make(size_t size) {
    char *block = checked(malloc(size));
    STAY();
    return block;
}

void lib_run(int blocks) {
    for (int i = 0; i < blocks; ++i) free(lib_make(100));
}

char *lib_give(void) { return lib_make(200); }
