/* together ALL|TURNS|KILLED: four children of 20 MiB each, at the same time or one after the other. */
#include "e2e.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 4 };

/* Says that it has its memory, and keeps it until the parent closes `go`. */
static void child(int has, int go) {
    const size_t bytes = 20 << 20;
    char *memory = checked(malloc(bytes));
    char word = 0;
    memset(memory, 1, bytes);
    keep(memory);
    say("");
    if (write(has, &word, 1) == 1 && read(go, &word, 1) == 0) _exit(0);
    _exit(1);
}

/* Waits until so many children have their memory, and then until memtoll has seen them. */
static void wait_for(int has, int children) {
    char word;
    for (int i = 0; i < children; ++i)
        if (read(has, &word, 1) != 1) exit(1);
    usleep(300000);
}

int main(int count, char **words) {
    if (count != 2) return 2;
    const int turns = !strcmp(words[1], "TURNS"), killed = !strcmp(words[1], "KILLED");
    const int together = turns ? 1 : CHILDREN;
    for (int begun = 0; begun < CHILDREN; begun += together) {
        int has[2], go[2];
        pid_t pids[CHILDREN];
        if (pipe(has) || pipe(go)) return 1;
        for (int i = 0; i < together; ++i) {
            pids[i] = fork();
            if (pids[i] == 0) {
                close(go[1]);
                child(has[1], go[0]);
            }
        }
        wait_for(has[0], together);
        for (int i = 0; i < together && killed; ++i) kill(pids[i], SIGKILL);
        close(go[1]);
        for (int i = 0; i < together; ++i) waitpid(pids[i], NULL, 0);
    }
    return 0;
}
