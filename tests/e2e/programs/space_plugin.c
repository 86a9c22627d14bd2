/* A plugin: 60 blocks of each kind, of which 10 of each are never freed. */
#include "e2e.h"

void plugin_work(void);

SITE static void by_malloc(void) {
    for (int i = 0; i < 60; ++i) {
        void *block = checked(malloc(100));
        if (i >= 10) free(block);
    }
    STAY();
}
SITE static void by_calloc(void) {
    for (int i = 0; i < 60; ++i) {
        void *block = checked(calloc(10, 20));
        if (i >= 10) free(block);
    }
    STAY();
}
SITE static void by_realloc(void) {
    for (int i = 0; i < 60; ++i) {
        void *block = checked(realloc(NULL, 30));
        block = checked(realloc(block, 3000));
        if (i >= 10) free(block);
    }
    STAY();
}
SITE static void by_alignment(void) {
    for (int i = 0; i < 60; ++i) {
        void *block = NULL;
        if (i % 2) {
            if (posix_memalign(&block, 64, 128)) _exit(95);
        } else {
            block = checked(aligned_alloc(64, 128));
        }
        keep(block);
        if (i >= 10) free(block);
    }
    STAY();
}
/* By the C library itself, which in a namespace of its own is another one. */
SITE static void by_strdup(void) {
    for (int i = 0; i < 60; ++i) {
        char *block = checked(strdup("123456789"));
        if (i >= 10) free(block);
    }
    STAY();
}

void plugin_work(void) {
    by_malloc();
    by_calloc();
    by_realloc();
    by_alignment();
    by_strdup();
}
