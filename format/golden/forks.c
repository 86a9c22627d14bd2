// Two processes that share their past: the child releases a block that only the parent was seen to acquire. See README.md.
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void) {
    void* volatile early = malloc(1000);
    const pid_t child = fork();
    for (int i = 0; i < (child ? 10 : 20); ++i) free(malloc(50));
    if (child == 0) {
        free(early);
        _exit(4);
    }
    waitpid(child, NULL, 0);
    return 0;
}
