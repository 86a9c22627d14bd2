#include <stdlib.h>
#include <string.h>

static char *volatile used; /* so that the compiler leaves the calls in */

int main(void) {
    static char *notes[1000];
    char *image = malloc(64 << 20);
    memset(image, 1, 16 << 20);
    for (int i = 0; i < 1000; i++) {
        notes[i] = malloc(10000);
        memset(notes[i], 1, 10000);
    }
    for (int i = 0; i < 1000; i++)
        if (i % 50 != 49) free(notes[i]);
    for (int i = 0; i < 100000; i++) {
        used = malloc(100);
        free(used);
    }
    return 0;
}
