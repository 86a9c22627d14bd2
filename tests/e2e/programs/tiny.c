/* 42 allocations; exits with the number given as argument. */
#include "e2e.h"

SITE static void work(void) {
    for (int i = 0; i < 42; ++i) checked(malloc(10));
    STAY();
}

int main(int argc, char **argv) {
    work();
    say("done\n");
    return argc > 1 ? atoi(argv[1]) : 0;
}
