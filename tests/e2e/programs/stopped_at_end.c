/* Ends while memtoll, its parent, is stopped: for as many ms as the argument says. */
#include "state.h"
#include <signal.h>

#define BYTES (24L << 20)

int main(int argc, char **argv) {
    int begins[2];
    if (argc < 2 || pipe(begins) != 0) return 90;
    const pid_t supervisor = getppid(), helper = fork();
    if (helper < 0) return 91;
    if (helper == 0) {
        char byte;
        if (read(begins[0], &byte, 1) != 1) _exit(92);
        usleep(atoi(argv[1]) * 1000);
        _exit(kill(supervisor, SIGCONT) != 0);
    }
    memset(checked(malloc(BYTES)), 1, BYTES);
    if (kill(supervisor, SIGSTOP) != 0) return 93;
    while (state_of(supervisor) != 'T') usleep(1000);
    usleep(100000); /* until its other threads have stopped, too */
    return write(begins[1], "", 1) == 1 ? 0 : 94;
}
