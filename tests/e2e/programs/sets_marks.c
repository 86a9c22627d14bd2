// Sets a mark every 10 ms, or as many µs as it is told: "tick" and "tock" in turn, and "done" instead of each 50th. Looks for the
// recorder from its begin on.
#include "e2e.h"
#include "memtoll.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

SITE static void allocate(void) {
    for (int i = 0; i < 7; ++i) free(checked(malloc(10)));
}

int main(int argc, char** argv) {
    const unsigned pause = argc > 1 ? (unsigned)atoi(argv[1]) : 10000;
    memtoll_mark("begin");
    puts("ready");
    fflush(stdout);
    for (unsigned i = 1; i < 200000000 / pause; ++i) { // some minutes
        allocate();
        memtoll_mark(i % 50 == 0 ? "done" : i % 2 ? "tick" : "tock");
        usleep(pause);
    }
}
