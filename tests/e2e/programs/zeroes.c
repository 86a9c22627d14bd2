/* Memory that calloc zeroes, or a buffer that realloc moves; with "fixed", neither. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char* volatile moved;

int main(int count, char** words) {
    const int is_fixed = count > 2;
    if (count < 2) return 1;
    mallopt(M_TRIM_THRESHOLD, 1 << 30); /* no page faults each time */
    if (strcmp(words[1], "calloc") == 0) {
        for (int i = 0; i < 40000; ++i) {
            /* From the heap, and used before: never zero by itself. */
            char* block = is_fixed ? malloc(60000) : calloc(1, 60000);
            __asm__ volatile("" : : "r"(block) : "memory");
            block[0] = 1;
            free(block);
        }
    } else {
        for (int i = 0; i < 40000; ++i) {
            char* block = malloc(is_fixed ? 126000 : 120000);
            memset(block, 1, 100);
            char* guard = malloc(60000); /* what follows it cannot be taken */
            __asm__ volatile("" : : "r"(guard) : "memory");
            moved = is_fixed ? block : realloc(block, 126000);
            free(moved);
            free(guard);
        }
    }
    puts("done");
    return 0;
}
