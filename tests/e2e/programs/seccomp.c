/* seccomp WHAT HOW WAY: forbids itself system calls, and goes on allocating.
 *
 * WHAT: futex, mmap, socket, or all (but those that the rest of this program needs).
 * HOW:  errno (the call fails) or kill (the call ends the process).
 * WAY:  prctl or seccomp: the call that installs the filter.
 *
 * With socket, one more thread is started afterwards; with socket and errno, a child is forked too. Exits with 3.
 */
#include "e2e.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

SITE static void before_work(void) {
    for (int i = 0; i < 100; ++i) free(checked(malloc(10)));
    STAY();
}

SITE static void after_work(void) {
    for (int i = 0; i < 200000; ++i) free(checked(malloc(20)));
    STAY();
}

// The stack reaches further down than before, and over pages that nobody can be asked about.
SITE static void deeper_work(int depth) {
    volatile char frame[10000];
    frame[depth] = 1;
    if (depth > 0) {
        deeper_work(depth - 1);
    } else {
        for (int i = 0; i < 10; ++i) free(checked(malloc(50)));
    }
    frame[9999] = frame[depth];
    STAY();
}

SITE static void *thread_work(void *unused) {
    for (int i = 0; i < 1000; ++i) free(checked(malloc(30)));
    return unused;
}

SITE static void child_work(void) {
    for (int i = 0; i < 10; ++i) free(checked(malloc(40)));
    STAY();
}

static int install(const struct sock_fprog *filter, int by_prctl) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -1;
    if (by_prctl) return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter, 0, 0);
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, filter);
}

#define LOAD_NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))
#define IF(number, action)                                                                                             \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, action)

int main(int argc, char **argv) {
    if (argc != 4) return 1;
    const int kills = strcmp(argv[2], "kill") == 0, by_prctl = strcmp(argv[3], "prctl") == 0;
    const unsigned action = kills ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM;
    const unsigned number = strcmp(argv[1], "futex") == 0 ? SYS_futex : strcmp(argv[1], "mmap") == 0 ? SYS_mmap : SYS_socket;
    struct sock_filter one[] = {LOAD_NUMBER, IF(number, action), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_filter all[] = {
        LOAD_NUMBER,
        IF(SYS_write, SECCOMP_RET_ALLOW),
        IF(SYS_brk, SECCOMP_RET_ALLOW),
        IF(SYS_exit_group, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, action),
    };
    const int only_one = strcmp(argv[1], "all") != 0;
    const struct sock_fprog filter = {only_one ? sizeof one / sizeof *one : sizeof all / sizeof *all, only_one ? one : all};

    before_work();
    if (install(&filter, by_prctl)) return 2;
    deeper_work(2);
    after_work();
    if (only_one && number == SYS_socket) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, thread_work, NULL) || pthread_join(thread, NULL)) return 4;
        if (!kills) {
            const pid_t child = fork();
            if (child == 0) {
                child_work();
                _exit(0);
            }
            int status = 0;
            if (waitpid(child, &status, 0) != child || status != 0) return 5;
        }
    }
    after_work();
    say("done\n");
    return 3;
}
