/* Frees blocks whose allocation no hook sees: seven of its own, and in a child three of its parent. */
#include <sys/wait.h>
#include "e2e.h"

void *__libc_malloc(size_t size);

SITE static void give_back(void *block) { free(block); STAY(); }

int main(void) {
    for (int i = 0; i < 7; ++i) give_back(__libc_malloc(100));
    void *blocks[3];
    for (int i = 0; i < 3; ++i) blocks[i] = checked(malloc(200));
    const pid_t child = fork();
    if (child == 0) {
        for (int i = 0; i < 3; ++i) give_back(blocks[i]);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    for (int i = 0; i < 3; ++i) free(blocks[i]);
    return 0;
}
