/* seccomp_asks HOW: asks for seccomp in a way that fails, as programs do to find out whether the kernel has it, or installs a
 * filter that allows everything. Then four threads make 100 blocks and sleep, and a forked child makes 500 blocks; "filter at
 * once" ends before that. */
#include "e2e.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SECCOMP_FILTER_FLAG_NEW_LISTENER
#define SECCOMP_FILTER_FLAG_NEW_LISTENER (1UL << 3)
#endif

SITE static void *thread_work(void *unused) {
    for (int i = 0; i < 100; ++i) free(checked(malloc((size_t)(10 + i))));
    usleep(300000);
    STAY();
    return unused;
}

SITE static void child_work(void) {
    for (int i = 0; i < 500; ++i) keep(checked(malloc(1000)));
    STAY();
}

/* 0 if it went as it should. */
static int ask(const char *how) {
    struct sock_filter allow[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog filter = {1, allow}, bad = {0, allow};
    if (!strcmp(how, "nothing")) return 0;
    if (!strcmp(how, "prctl")) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) != -1 || errno != EFAULT;
    if (!strcmp(how, "syscall")) return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) != -1 || errno != EFAULT;
    if (!strcmp(how, "syscall bad")) return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0x4000, &filter) != -1;
    if (!strcmp(how, "strict fails")) return syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL) != -1;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 1;
    if (!strcmp(how, "prctl bad")) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &bad) != -1;
    if (!strcmp(how, "filter")) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0;
    if (!strcmp(how, "filter by syscall")) return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0;
    if (!strcmp(how, "listener"))
        return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter) < 0;
    return 1;
}

int main(int count, char **words) {
    const int at_once = count == 2 && !strcmp(words[1], "filter at once");
    if (count != 2 || ask(at_once ? "filter" : words[1])) return 2;
    char *much = checked(malloc(40 << 20));
    memset(much, 1, 40 << 20);
    keep(much);
    if (at_once) return 0;
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, thread_work, NULL);
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
    const pid_t child = fork();
    if (child == 0) {
        child_work();
        exit(0);
    }
    int status = -1;
    return waitpid(child, &status, 0) != child || status != 0;
}
