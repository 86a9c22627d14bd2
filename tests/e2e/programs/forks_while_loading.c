/* One thread loads a library with an allocator of its own (lib_own_registers.c), while another one forks: just when the second jump
 * to the recorder is about to be written. The child uses that allocator, and so does its parent. */
#include "e2e.h"
#include <dlfcn.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>

int (*volatile own_work)(int);

static int ask[2], answer[2];
static volatile int writes;

static void *forks(void *unused) {
    char byte;
    if (read(ask[0], &byte, 1) != 1) abort();
    const pid_t child = fork();
    if (child == 0) _exit(own_work(10) != 10);
    if (write(answer[1], "", 1) != 1) abort();
    int status;
    if (waitpid(child, &status, 0) != child || status) abort();
    return unused;
}

/* Does what pwrite64 was to do; the second time, when the other thread has forked or has had time to. */
static void on_write(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    if (++writes == 2) {
        struct pollfd forked = {.fd = answer[0], .events = POLLIN};
        if (write(ask[1], "", 1) != 1) abort();
        poll(&forked, 1, 200);
    }
    const struct iovec bytes = {(void *)registers[REG_RSI], (size_t)registers[REG_RDX]};
    registers[REG_RAX] = syscall(SYS_pwritev, registers[REG_RDI], &bytes, 1, registers[REG_R10], 0L);
}

/* The recorder makes no system calls where it sees that they are filtered: it does not see this. */
static long forbid(const struct sock_fprog *filter) {
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"((long)SYS_seccomp), "D"((long)SECCOMP_SET_MODE_FILTER), "S"(0L), "d"(filter)
                     : "rcx", "r11", "memory");
    return result;
}

int main(int count, char **arguments) {
    if (count < 2 || pipe(ask) || pipe(answer)) return 2;
    pthread_t other;
    if (pthread_create(&other, NULL, forks, NULL)) return 3;
    const struct sigaction trapped = {.sa_sigaction = on_write, .sa_flags = SA_SIGINFO};
    sigaction(SIGSYS, &trapped, NULL);
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwrite64, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || forbid(&filter)) return 4;
    if (!dlopen(arguments[1], RTLD_NOW)) return 5;
    free(checked(malloc(1)));
    if (own_work(10) != 10) return 6;
    say_number("writes", writes);
    if (writes < 2 && write(ask[1], "", 1) != 1) return 7;
    pthread_join(other, NULL);
    return 0;
}
