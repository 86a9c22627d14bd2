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

int main(int count, char **arguments) {
    small_pages_only();
    warm_up();
    if (count > 1 && !strcmp(arguments[1], "threshold")) {
        mallopt(M_MMAP_THRESHOLD, 128 * 1024);
        threshold();
    } else if (count > 1 && !strcmp(arguments[1], "now_and_then")) {
        mallopt(M_MMAP_THRESHOLD, 128 * 1024);
        now_and_then();
    } else {
        mallopt(M_MMAP_THRESHOLD, 64 << 20);
        mallopt(M_TRIM_THRESHOLD, 64 * 1024);
        mallopt(M_TOP_PAD, 0);
        trimming();
    }
    say_faults();
    return 0;
}
