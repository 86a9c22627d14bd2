/* together ALL|TURNS|KILLED: four children of 20 MiB each, at the same time or one after the other. */
#include "e2e.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 4 };

static void child(int stays) {
    const size_t bytes = 20 << 20;
    char *memory = checked(malloc(bytes));
    memset(memory, 1, bytes);
    keep(memory);
    say("");
    if (stays) pause();
    usleep(300000);
    _exit(0);
}

int main(int count, char **words) {
    if (count != 2) return 2;
    const int turns = !strcmp(words[1], "TURNS"), killed = !strcmp(words[1], "KILLED");
    pid_t pids[CHILDREN];
    for (int i = 0; i < CHILDREN; ++i) {
        pids[i] = fork();
        if (pids[i] == 0) child(killed);
        if (turns) waitpid(pids[i], NULL, 0);
    }
    if (killed) {
        usleep(400000);
        for (int i = 0; i < CHILDREN; ++i) kill(pids[i], SIGKILL);
    }
    for (int i = 0; i < CHILDREN && !turns; ++i) waitpid(pids[i], NULL, 0);
    return 0;
}
