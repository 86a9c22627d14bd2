/* A process that is stopped for a while: once inside malloc (lib_one_lock.c), once outside. A second process sees to it that it
   goes on. */
#include "state.h"
#include <signal.h>
#include <sys/wait.h>

#define SIZE 1000
#define STOPPED_MICROSECONDS 400000

extern void (*while_locked)(size_t size);

/* A byte for each stop: by its state alone, one stop that follows another at once looks like the same. */
static int stops[2];

static void stop(size_t size) {
    if (size != SIZE) return;
    if (write(stops[1], "", 1) != 1) abort();
    kill(getpid(), SIGSTOP);
}

SITE static void *asks(void) { return checked(malloc(SIZE)); }

int main(void) {
    free(checked(malloc(1)));
    if (pipe(stops) != 0) return 97;
    const pid_t stopped = getpid(), helper = fork();
    if (helper == 0) {
        char byte;
        for (int times = 0; times < 2; ++times) {
            if (read(stops[0], &byte, 1) != 1) _exit(98);
            while (state_of(stopped) != 'T') usleep(1000);
            usleep(STOPPED_MICROSECONDS);
            kill(stopped, SIGCONT);
        }
        _exit(0);
    }
    while_locked = stop;
    void *block = asks();
    while_locked = NULL;
    free(block);
    stop(SIZE);
    int status;
    return waitpid(helper, &status, 0) == helper && status == 0 ? 0 : 96;
}
