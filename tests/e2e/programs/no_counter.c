/* no_counter WAY: forbids itself the processor's time stamp counter, and goes on allocating and freeing.
 *
 * WAY: prctl, syscall   with PR_SET_TSC; then also on another thread and in a forked child
 *      strict           with strict seccomp, by prctl, which leaves it only read, write, exit and sigreturn
 *      strict-syscall   the same by the call of its own
 *
 * A program that is executed then would end in the loader, which reads the counter. */
#include "e2e.h"
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define PAIRS 50000
/* A thread that waits for the other one costs a turn of all programs on a busy machine: so not for each block. */
#define WAITING 64

SITE static void before_work(void) {
    for (int i = 0; i < 100; ++i) free(checked(malloc(10)));
    STAY();
}

SITE static void after_work(void) {
    for (int i = 0; i < PAIRS; ++i) free(checked(malloc(20)));
    STAY();
}

SITE static void child_work(void) {
    for (int i = 0; i < 10; ++i) free(checked(malloc(40)));
    STAY();
}

SITE static void *handed_over(void) {
    void *block = checked(malloc(30));
    STAY();
    return block;
}

/* Two threads: one allocates, the other one frees. */
static void *volatile mailbox[WAITING];

static void *frees(void *unused) {
    for (int i = 0; i < PAIRS; ++i) {
        void *block;
        while (!(block = __atomic_exchange_n(&mailbox[i % WAITING], NULL, __ATOMIC_ACQ_REL))) sched_yield();
        free(block);
    }
    return unused;
}

static void hands_over(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, frees, NULL)) _exit(4);
    for (int i = 0; i < PAIRS; ++i) {
        void *block = handed_over();
        while (__atomic_load_n(&mailbox[i % WAITING], __ATOMIC_ACQUIRE)) sched_yield();
        __atomic_store_n(&mailbox[i % WAITING], block, __ATOMIC_RELEASE);
    }
    pthread_join(thread, NULL);
}

int main(int argc, char **argv) {
    if (argc != 2) return 1;
#define WAY(name) if (strcmp(argv[1], name) == 0)
    before_work();
    WAY("prctl") if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0)) return 2;
    WAY("syscall") if (syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0)) return 2;
    WAY("strict") if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0)) return 2;
    WAY("strict-syscall") if (syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 0, NULL)) return 2;
    after_work();
    if (strncmp(argv[1], "strict", 6) != 0) {
        hands_over();
        const pid_t child = fork();
        if (child == 0) {
            child_work();
            _exit(0);
        }
        int status = 0;
        if (waitpid(child, &status, 0) != child || status != 0) return 5;
    }
    say("done\n");
    syscall(SYS_exit, 3); /* exit_group is forbidden */
    return 0;
}
