/* hidden_frees: half of the blocks are freed by a function of the C library that is no free for the dynamic linker. */
#include "e2e.h"

void __libc_free(void *block);

SITE static void seen(void) {
    for (int i = 0; i < 1000; ++i) free(checked(malloc(100)));
    STAY();
}

SITE static void hidden(void) {
    for (int i = 0; i < 1000; ++i) __libc_free(checked(malloc(200)));
    STAY();
}

int main(void) {
    seen();
    hidden();
    return 0;
}
