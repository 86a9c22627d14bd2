/* A heap that is given back and taken again: 60 times 40 blocks of 100,000 bytes, touched and freed. */
#include "pages.h"

int main(void) {
    for (int round = 0; round < 60; round++) {
        char *blocks[40];
        for (int i = 0; i < 40; i++) {
            blocks[i] = checked(malloc(100000));
            touch(blocks[i], 24);
        }
        for (int i = 40; i-- > 0;) free(blocks[i]);
    }
    return 0;
}
