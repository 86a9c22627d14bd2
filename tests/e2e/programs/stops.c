/* A process that is stopped for a while: once inside malloc (lib_one_lock.c), once outside. A second process sees to it that it
   goes on. */
#include "e2e.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#define SIZE 1000
#define STOPPED_MICROSECONDS 400000

extern void (*while_locked)(size_t size);

static int is_stopped(pid_t pid) {
    char line[128] = "";
    snprintf(line, sizeof line, "/proc/%d/stat", pid);
    const int file = open(line, O_RDONLY);
    const ssize_t bytes = file < 0 ? -1 : read(file, line, sizeof line - 1);
    if (bytes < 0) _exit(95);
    close(file);
    line[bytes] = 0;
    const char *name_end = strrchr(line, ')');
    return name_end && name_end[2] == 'T';
}

static void stop(size_t size) {
    if (size == SIZE) kill(getpid(), SIGSTOP);
}

SITE static void *asks(void) { return checked(malloc(SIZE)); }

int main(void) {
    free(checked(malloc(1)));
    const pid_t stopped = getpid(), helper = fork();
    if (helper == 0) {
        for (int times = 0; times < 2; ++times) {
            while (!is_stopped(stopped)) usleep(1000);
            usleep(STOPPED_MICROSECONDS);
            kill(stopped, SIGCONT);
            while (is_stopped(stopped)) usleep(1000);
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
