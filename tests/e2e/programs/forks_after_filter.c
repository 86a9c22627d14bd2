/* forks_after_filter: installs a filter that allows everything, then makes 200,000 blocks while a signal handler forks children,
 * now and then inside a call. Exits with 0 if each child did what it should. */
#include "e2e.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int children, failed;

SITE static void child_work(void) {
    for (int i = 0; i < 50; ++i) keep(checked(malloc(1000)));
    STAY();
}

static void forks(int signal) {
    const int saved = errno;
    (void)signal;
    const pid_t child = fork();
    if (child == 0) {
        /* The heap may be locked: it is only used where the handler did not interrupt it. */
        _exit(7);
    }
    int status = -1;
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 7) failed = 1;
    ++children;
    errno = saved;
}

SITE static void work(void) {
    for (int i = 0; i < 200000; ++i) free(checked(malloc(20)));
    STAY();
}

int main(void) {
    struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {1, allow};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) return 2;
    signal(SIGALRM, forks);
    const struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &often, NULL);
    do work();
    while (children < 20);
    setitimer(ITIMER_REAL, &never, NULL);
    for (int i = 0; i < 20; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            child_work();
            exit(0);
        }
        int status = -1;
        if (waitpid(child, &status, 0) != child || status != 0) failed = 1;
    }
    return failed;
}
