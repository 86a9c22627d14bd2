// Only the first three frames allocate; with a second argument, all do. The first argument: blocks before. -DWORKS: 100 ms of CPU.
#include <memtoll.h>
#include <stdlib.h>
#include <time.h>

static void* volatile sink;

__attribute__((noinline)) static void load(int blocks) {
    for (int i = 0; i < blocks; i++) {
        sink = malloc(100);
        free(sink);
    }
}

__attribute__((noinline)) static void draw(int blocks) {
    for (int i = 0; i < blocks; i++) {
        sink = malloc(24);
        free(sink);
    }
}

int main(int count, char** arguments) {
#ifdef WORKS
    for (const clock_t began = clock(); clock() - began < CLOCKS_PER_SEC / 10;) {}
#endif
    memtoll_mark("loading");
    load(count > 1 ? atoi(arguments[1]) : 50);
    memtoll_mark("loaded");
    for (int frame = 0; frame < 20; frame++) {
        memtoll_region_begin("frame");
        draw(frame < 3 || count > 2 ? 4 : 0);
        memtoll_region_end("frame");
    }
    return 0;
}
