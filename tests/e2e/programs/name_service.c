/* Lines whose blocks the C library makes for itself, and one whose block is its own. */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void* a, const void* b) { return memcmp(a, b, 8); }

__attribute__((noinline)) static unsigned long homes(void) {
    unsigned long sum = 0;
    for (int i = 0; i < 3000; i++) {
        struct passwd* who = getpwuid(0); /* looked up */
        sum += who ? strlen(who->pw_name) : 0;
    }
    return sum;
}

__attribute__((noinline)) static unsigned long sorted(void) {
    static char words[400][8];
    unsigned long sum = 0;
    for (int i = 0; i < 4000; i++) {
        words[i % 400][0] = (char)i;
        qsort(words, 400, 8, compare); /* sorted */
        sum += (unsigned char)words[0][0];
    }
    return sum;
}

__attribute__((noinline)) static unsigned long copies(void) {
    unsigned long sum = 0;
    for (int i = 0; i < 3000; i++) {
        char* copy = strdup("a text of some length"); /* copied */
        sum += strlen(copy);
        free(copy);
    }
    return sum;
}

int main(void) {
    printf("%lu\n", homes() + copies() + sorted());
    return 0;
}
