/* Memory that malloc takes from the system and gives back, over and over: by mappings, or at the end of the heap. */
#include "pages.h"
#include <malloc.h>

/* Each block has a mapping of its own: taken 200 times, given back 200 times. */
SITE static void threshold(void) {
    for (int i = 0; i < 200; ++i) {
        char *block = checked(malloc(1 << 20));
        touch(block, 4);
        free(block);
    }
}

/* The same with pauses, so that whoever looks on has time to fall asleep. */
SITE static void now_and_then(void) {
    for (int i = 0; i < 2000; ++i) {
        free(checked(malloc(1 << 20)));
        usleep(400);
    }
}

/* Each free leaves more at the heap's end than glibc keeps: it grows and shrinks 200 times. */
SITE static void trimming(void) {
    for (int i = 0; i < 200; ++i) {
        char *block = checked(malloc(512 * 1024));
        touch(block, 4);
        free(block);
    }
}

/* One call gives back at once what all others have filled. */
enum { kBlocks = 1000, kBlock = 16 * 1024 };

SITE static char *fills(void) {
    char *block = checked(malloc(kBlock));
    touch(block, 4);
    return block;
}

SITE static char *is_last(void) {
    return checked(malloc(kBlock));
}

SITE static void gives_back(void) {
    static char *blocks[kBlocks];
    for (int round = 0; round < 20; ++round) {
        for (int i = 0; i < kBlocks; ++i) blocks[i] = fills();
        char *last = is_last();
        for (int i = 0; i < kBlocks; ++i) free(blocks[i]);
        free(last);
    }
}

int main(int count, char **arguments) {
    small_pages_only();
    warm_up();
    if (count > 1 && !strcmp(arguments[1], "threshold")) {
        mallopt(M_MMAP_THRESHOLD, 128 * 1024);
        threshold();
    } else if (count > 1 && !strcmp(arguments[1], "now_and_then")) {
        mallopt(M_MMAP_THRESHOLD, 128 * 1024);
        now_and_then();
    } else if (count > 1 && !strcmp(arguments[1], "gives_back")) {
        gives_back();
    } else {
        mallopt(M_MMAP_THRESHOLD, 64 << 20);
        mallopt(M_TRIM_THRESHOLD, 64 * 1024);
        mallopt(M_TOP_PAD, 0);
        trimming();
    }
    say_faults();
    return 0;
}
