// A process that memtoll attaches to. Its threads allocate all the time, from before memtoll comes until after it has left.
// What `exact` does is between two lines that the program prints, so its calls are known exactly.
//
//   attached THREADS [errno|kill|patched|spins|locks|signals|forks]
//
// "errno", "kill": it forbids itself a system call with a seccomp filter, mincore, which then fails, or memfd_create, which then ends it.
// "patched": another tool has changed the begin of a function. "spins", "locks": no thread ever leaves the C library.
// "signals": a handler that interrupts malloc again and again allocates itself. "forks": a thread forks one child after the other, which
// allocate.
//
// Each line that it reads is a command: "exact" (every thread makes its calls once), "rest" (they make no others until the next
// "exact"), "threads" (four more threads come and go), "fork" and "look" (children, and what they find), "quit".
#include "e2e.h"
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLS = 500 };

static atomic_int rounds, done, is_resting, is_over;
static atomic_ulong broken;

SITE void noise(unsigned seed) {
    char* blocks[16];
    for (int i = 0; i < 16; ++i) {
        size_t size = 16 + seed * 7 % 900 + i;
        blocks[i] = malloc(size);
        memset(blocks[i], (int)(seed + i), size);
    }
    for (int i = 0; i < 16; ++i) {
        blocks[i] = realloc(blocks[i], 1200);
        if (blocks[i][3] != (char)(seed + i)) atomic_fetch_add(&broken, 1);
        free(blocks[i]);
    }
}

// CALLS times 100 bytes from malloc, CALLS times 30 from calloc, of which the latter are freed.
SITE void exact(void) {
    for (int i = 0; i < CALLS; ++i) {
        keep(malloc(100));
        void* block = calloc(3, 10);
        keep(block);
        free(block);
    }
}

// A thread that ends at once.
SITE void* short_lived(void* argument) {
    for (int i = 0; i < 20; ++i) {
        void* block = malloc(50);
        keep(block);
        free(block);
    }
    return argument;
}

// 100 children in half a second, which call nothing until look().
static int gate[2], children;
static pid_t child[100];

static void fork_children(void) {
    if (pipe(gate) != 0) abort();
    for (children = 0; children < 100; ++children) {
        child[children] = fork();
        if (child[children] == 0) {
            char byte;
            close(gate[1]);
            while (read(gate[0], &byte, 1) < 0) {}
            const void* functions[] = {(void*)malloc, (void*)free, (void*)realloc, (void*)mmap};
            int jumps = 0;
            for (int i = 0; i < 4; ++i) jumps += *(const volatile unsigned char*)functions[i] == 0xe9;
            _exit(jumps > 0);
        }
        usleep(5000);
    }
}

// How many of them still have jumps where functions begin.
static int look(void) {
    int found = 0, status;
    close(gate[1]);
    for (int i = 0; i < children; ++i) found += waitpid(child[i], &status, 0) == child[i] && status != 0;
    close(gate[0]);
    return found;
}

// From the thread's cache, which has a block of this size that nothing else takes: that works inside malloc, too.
SITE void in_handler(int signal) {
    char* block = malloc(1000);
    block[0] = (char)signal;
    keep(block);
    free(block);
    STAY();
}

static void* fork_one_after_the_other(void* argument) {
    while (!atomic_load(&is_over)) {
        int status;
        const pid_t pid = fork();
        if (pid == 0) {
            for (int i = 0; i < 10; ++i) free(malloc(100 + i));
            _exit(0);
        }
        if (waitpid(pid, &status, 0) != pid || status != 0) atomic_fetch_add(&broken, 1);
    }
    return argument;
}

static int has_signals;

static void* work(void* argument) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGPROF);
    if (has_signals) {
        in_handler(0);
        pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
    }
    unsigned seed = (unsigned)(uintptr_t)argument;
    int seen = 0;
    while (!atomic_load(&is_over)) {
        if (atomic_load(&is_resting)) usleep(1000);
        else noise(seed++);
        if (atomic_load(&rounds) > seen) {
            ++seen;
            exact();
            atomic_fetch_add(&done, 1);
        }
    }
    // The C library gives the thread's cache back with the heap's lock held: a handler that allocates then would wait for itself.
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    return NULL;
}

static void forbid(int call, unsigned otherwise) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, otherwise),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {4, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) abort();
}

static void be(const char* how) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static pthread_spinlock_t spinning;
    if (strcmp(how, "signals") == 0) {
        // Not for the main thread.
        sigset_t signals;
        sigemptyset(&signals);
        sigaddset(&signals, SIGPROF);
        pthread_sigmask(SIG_BLOCK, &signals, NULL);
        struct sigaction action = {.sa_handler = in_handler, .sa_flags = SA_RESTART};
        sigaction(SIGPROF, &action, NULL);
        const struct itimerval each = {{0, 500}, {0, 500}};
        setitimer(ITIMER_PROF, &each, NULL);
        has_signals = 1;
    }
    if (strcmp(how, "forks") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, fork_one_after_the_other, NULL);
    }
    if (strcmp(how, "errno") == 0) forbid(SYS_mincore, SECCOMP_RET_ERRNO | EPERM);
    if (strcmp(how, "kill") == 0) forbid(SYS_memfd_create, SECCOMP_RET_KILL_PROCESS);
    if (strcmp(how, "patched") == 0) {
        char* function = dlsym(RTLD_DEFAULT, "pvalloc"); // which nobody calls
        char* page = (char*)((uintptr_t)function & ~(uintptr_t)4095);
        if (mprotect(page, 8192, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) abort();
        function[0] = (char)0xe9;
    }
    if (strcmp(how, "spins") == 0) {
        pthread_spin_init(&spinning, 0);
        for (int i = 0; i < 2; ++i) {
            if (i == 1) puts("ready"), fflush(stdout);
            pthread_spin_lock(&spinning); // the second time, for ever
        }
    }
    if (strcmp(how, "locks") == 0) {
        pthread_mutex_lock(&lock);
        puts("ready");
        fflush(stdout);
        pthread_mutex_lock(&lock); // for ever
    }
}

int main(int count, char** arguments) {
    if (count > 2) be(arguments[2]);
    int threads = count > 1 ? atoi(arguments[1]) : 1;
    pthread_t all[1024];
    for (int i = 0; i < threads; ++i) pthread_create(&all[i], NULL, work, (void*)(uintptr_t)(i + 1));
    puts("ready");
    fflush(stdout);
    char line[64];
    while (fgets(line, sizeof line, stdin) && strcmp(line, "quit\n") != 0) {
        if (strcmp(line, "fork\n") == 0) {
            fork_children();
            puts("forked");
            fflush(stdout);
            continue;
        }
        if (strcmp(line, "look\n") == 0) {
            printf("jumps in %d of %d\n", look(), children);
            fflush(stdout);
            continue;
        }
        if (strcmp(line, "threads\n") == 0) {
            pthread_t some[4];
            for (int i = 0; i < 4; ++i) pthread_create(&some[i], NULL, short_lived, NULL);
            for (int i = 0; i < 4; ++i) pthread_join(some[i], NULL);
            puts("ended");
            fflush(stdout);
            continue;
        }
        const int rests = strcmp(line, "rest\n") == 0;
        atomic_store(&is_resting, rests);
        if (rests) {
            puts("resting");
            fflush(stdout);
            continue;
        }
        int wanted = (atomic_fetch_add(&rounds, 1) + 1) * threads;
        while (atomic_load(&done) < wanted) {}
        puts("made");
        fflush(stdout);
    }
    atomic_store(&is_over, 1);
    for (int i = 0; i < threads; ++i) pthread_join(all[i], NULL);
    printf("broken %lu\n", atomic_load(&broken));
    return atomic_load(&broken) > 0;
}
