/* handwritten WAY: a process or thread that the program starts by a system call of its own, without the C library's fork or
 * pthread_create. It allocates, and the program goes on. With clone3-thread-below-code and clone3-thread-below-data, what
 * lies above the thread's stack looks like frames. */
#include "e2e.h"
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define STACK (256L << 10)

static void allocate(int times) {
    for (int i = 0; i < times; ++i) free(checked(malloc(24)));
    STAY();
}

SITE static void before(void) { allocate(10); }
SITE static void started_work(void) { allocate(20); }
SITE static void after(void) { allocate(30); }

/* Nothing of the C library's may run at the end of such a thread. */
static int starts(void *unused) {
    (void)unused;
    started_work();
    syscall(SYS_exit, 3);
    return 0;
}

static char *map_stack(long bytes) {
    char *stack = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) _exit(92);
    return stack;
}

static char *new_stack(void) { return map_stack(STACK); }

/* Never called. */
SITE static void stranger(void) { allocate(40); }

/* What lies directly above a new stack, full of one word. */
static char *new_stack_below(uintptr_t word, int protection) {
    char *stack = map_stack(2 * STACK);
    uintptr_t *above = (uintptr_t *)(stack + STACK);
    for (size_t i = 0; i < STACK / sizeof word; ++i) above[i] = word;
    if (mprotect(above, STACK, protection)) _exit(95);
    return stack;
}

/* Code's addresses, in a mapping of their own. */
static char *new_stack_below_code(void) { return new_stack_below((uintptr_t)stranger + 8, PROT_READ); }

/* Addresses of data, in the mapping that the stack itself lies in. */
static char *new_stack_below_data(void) { return new_stack_below((uintptr_t)new_stack(), PROT_READ | PROT_WRITE); }

static void join(pid_t child) {
    int status = -1;
    if (child <= 0 || waitpid(child, &status, 0) != child) _exit(93);
    say_number("the child ended with", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
}

/* The thread has the thread-local memory of the one that starts it, which therefore does nothing meanwhile. */
#define THREAD (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_CHILD_CLEARTID)

static volatile int thread_id;

static void wait_for_thread(void) {
    while (thread_id != 0) usleep(100);
    say("the thread has ended\n");
}

/* The child goes on with its own stack, so it must not return from here. */
SITE static long clone3(struct clone_args *arguments) {
    long result = -1;
#ifdef __x86_64__
    register int (*start)(void *) __asm__("r12") = starts;
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "call *%%r12\n\t"
                     "1:"
                     : "=a"(result)
                     : "a"((long)SYS_clone3), "D"(arguments), "S"(sizeof *arguments), "r"(start)
                     : "rcx", "r11", "memory");
#endif
    return result;
}

int main(int count, char **arguments) {
    if (count != 2) return 1;
    const char *way = arguments[1];
    before();
    if (!strcmp(way, "process")) {
        join(clone(starts, new_stack() + STACK, SIGCHLD, NULL));
    } else if (!strcmp(way, "vfork")) {
        join(clone(starts, new_stack() + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL));
    } else if (!strcmp(way, "thread")) {
        thread_id = 1;
        if (clone(starts, new_stack() + STACK, THREAD, NULL, NULL, NULL, &thread_id) < 0) _exit(94);
        wait_for_thread();
    } else if (!strcmp(way, "clone3-process")) {
        struct clone_args process = {.exit_signal = SIGCHLD};
        const long child = syscall(SYS_clone3, &process, sizeof process);
        if (child == 0) starts(NULL);
        join((pid_t)child);
    } else if (!strncmp(way, "clone3-thread", 13)) {
        thread_id = 1;
        char *(*const make_stack)(void) = !strcmp(way + 13, "-below-code")   ? new_stack_below_code
                                          : !strcmp(way + 13, "-below-data") ? new_stack_below_data
                                                                             : new_stack;
        struct clone_args thread = {.flags = THREAD,
                                    .child_tid = (uintptr_t)&thread_id,
                                    .stack = (uintptr_t)make_stack(),
                                    .stack_size = STACK};
        if (clone3(&thread) < 0) _exit(94);
        wait_for_thread();
    }
    after();
    return 0;
}
