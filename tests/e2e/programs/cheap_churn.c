/* Nearly all blocks are freed at once, and cost next to nothing beside what the program computes. */
#include <stdlib.h>

static volatile double sum;

static void *volatile block;

__attribute__((noinline)) static void churn(void) {
    block = malloc(24);
    free(block);
}

int main(void) {
    for (int round = 0; round < 3000; round++) {
        churn();
        for (int i = 0; i < 10000; i++)
            sum += i;
    }
    return 0;
}
