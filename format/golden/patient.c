// Six seconds of allocations: the recording in which memtoll was killed before their end. See README.md.
#include <stdlib.h>
#include <unistd.h>

int main(void) {
    for (int round = 0; round < 60; ++round) {
        for (int i = 0; i < 1000; ++i) free(malloc(i % 8 * 16));
        usleep(100000);
    }
    return 0;
}
