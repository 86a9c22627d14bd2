// Says that it is ready, and waits for input.
#include <stdio.h>

int main(void) {
    puts("ready");
    fflush(stdout);
    return getchar() == EOF;
}
