/* last_state WAY REST: has 40 MiB in memory, then 10 MiB, takes 100 ms of CPU time, rests for REST milliseconds, and ends in
 * one of the ways there are. */
#include "e2e.h"
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char *fill(long mib) {
    char *memory = checked(malloc((size_t)mib << 20));
    memset(memory, 1, (size_t)mib << 20);
    keep(memory);
    return memory;
}

static void compute(void) {
    struct timespec now;
    do {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    } while (now.tv_sec == 0 && now.tv_nsec < 100000000);
}

static void *leave(void *unused) {
    _exit(0);
    return unused;
}

int main(int count, char **words) {
    if (count != 3) return 2;
    const char *way = words[1];
    char *nothing[] = {"nothing", NULL};
    char *much = fill(30);
    fill(10);
    /* None of these ends this process. */
    if (!strcmp(way, "exec fails")) execve("/no/such/program", nothing, nothing);
    if (!strcmp(way, "vfork")) {
        const pid_t child = vfork();
        if (child == 0) _exit(3);
        waitpid(child, NULL, 0);
    }
    free(much);
    compute();
    usleep((useconds_t)atoi(words[2]) * 1000);
    if (!strcmp(way, "exit")) exit(0);
    if (!strcmp(way, "_exit")) _exit(0);
    if (!strcmp(way, "_Exit")) _Exit(0);
    if (!strcmp(way, "quick_exit")) quick_exit(0);
    if (!strcmp(way, "exit_group")) syscall(SYS_exit_group, 0);
    if (!strcmp(way, "abort")) abort();
    if (!strcmp(way, "segv")) *(volatile int *)((size_t)words & 8) = 1;
    if (!strcmp(way, "thread")) {
        pthread_t thread;
        pthread_create(&thread, NULL, leave, NULL);
        pause();
    }
    raise(SIGKILL);
    return 1;
}
