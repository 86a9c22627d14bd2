/* Allocations before main and after it. */
#include "e2e.h"

SITE static void constructor_work(void) {
    for (int i = 0; i < 3; ++i) checked(malloc(30));
    STAY();
}
SITE static void atexit_work(void) {
    for (int i = 0; i < 5; ++i) checked(malloc(50));
    STAY();
}
SITE static void destructor_work(void) {
    for (int i = 0; i < 7; ++i) checked(malloc(70));
    say("last words\n");
}

__attribute__((constructor)) static void begin(void) {
    constructor_work();
    STAY();
}
__attribute__((destructor)) static void end(void) {
    destructor_work();
    STAY();
}

int main(void) { return atexit(atexit_work); }
