// Sets a mark every 10 ms: "tick", and "done" instead of each 50th. Looks for the recorder from its begin on.
#include "e2e.h"
#include "memtoll.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

SITE static void allocate(void) {
    for (int i = 0; i < 7; ++i) free(checked(malloc(10)));
}

int main(void) {
    memtoll_mark("begin");
    puts("ready");
    fflush(stdout);
    for (unsigned i = 1; i < 20000; ++i) { // some minutes
        allocate();
        memtoll_mark(i % 50 ? "tick" : "done");
        usleep(10000);
    }
}
