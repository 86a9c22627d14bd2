/* A buffer that grows by realloc. With "among", its calls put small blocks together that were freed before it. */
#include <stdio.h>
#include <stdlib.h>

static void* small[4000];

__attribute__((noinline)) static void make_small(void) {
    for (int i = 0; i < 4000; i++) small[i] = malloc(40);
}

__attribute__((noinline)) static void drop_small(void) {
    for (int odd = 0; odd < 2; odd++)
        for (int i = odd; i < 4000; i += 2) free(small[i]);
}

__attribute__((noinline)) static char* grow(void) {
    char* buffer = NULL;
    for (int n = 1; n <= 40; n++) {
        buffer = realloc(buffer, n * 512); /* grows */
        buffer[n * 512 - 1] = 1;
    }
    return buffer;
}

int main(int count, char** words) {
    (void)words;
    unsigned long sum = 0;
    for (int round = 0; round < 2000; round++) {
        make_small();
        if (count > 1) drop_small();
        char* buffer = grow();
        sum += (unsigned char)buffer[511];
        free(buffer);
        if (count == 1) drop_small();
    }
    printf("%lu\n", sum);
    return 0;
}
