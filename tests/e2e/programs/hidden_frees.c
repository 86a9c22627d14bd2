/* hidden_frees [ROUNDS]: half of the blocks are freed by a function of the C library that is no free for the dynamic linker. Rounds
 * take 10 ms. */
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

int main(int count, char **arguments) {
    const int rounds = count > 1 ? atoi(arguments[1]) : 1;
    for (int i = 0; i < rounds; ++i) {
        seen();
        hidden();
        if (rounds > 1) usleep(10000);
    }
    return 0;
}
