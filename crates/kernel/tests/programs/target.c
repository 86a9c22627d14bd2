/* The program that the tests watch. The first argument says what it does; what it prints is the truth.
   Memory is without huge pages, so that each page touched is one fault. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE ((long)sysconf(_SC_PAGESIZE))

static volatile char *fresh(long pages) {
    char *memory = mmap(0, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, pages * PAGE, MADV_NOHUGEPAGE)) abort();
    return memory;
}

static void touch(volatile char *memory, long pages) {
    for (long page = 0; page < pages; page++) memory[page * PAGE] = 1;
}

static struct rusage used(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage;
}

static int thread_id(void) { return syscall(SYS_gettid); }

/* touch PAGES: also says what the kernel counted. */
static void do_touch(long pages) {
    volatile char *memory = fresh(pages);
    long before = used().ru_minflt;
    touch(memory, pages);
    printf("region %d %p %ld\n", thread_id(), (void *)memory, pages);
    printf("minor %ld\n", used().ru_minflt - before);
}

/* huge: the first byte of each page of 2 MiB, of which the kernel is asked for huge ones; says how many it gave. */
static void do_huge(void) {
    long bytes = 2l << 20, pages = bytes / PAGE, given = 0, kib;
    char *room = mmap(0, 5 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), line[512];
    char *memory = (char *)(((uintptr_t)room + bytes - 1) & ~(uintptr_t)(bytes - 1));
    if (room == MAP_FAILED || madvise(memory, 4 * bytes, MADV_HUGEPAGE)) abort();
    for (long i = 0; i < 4; i++) memory[i * bytes] = 1;
    FILE *maps = fopen("/proc/self/smaps_rollup", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "AnonHugePages: %ld", &kib) == 1) given = kib * 1024 / bytes;
    printf("region %d %p %ld\nhuge %ld\n", thread_id(), (void *)memory, 4 * pages, given);
}

/* storm PAGES ROUNDS: touches fresh pages, over and over. */
static void do_storm(long pages, long rounds) {
    for (long round = 0; round < rounds; round++) {
        volatile char *memory = fresh(pages);
        touch(memory, pages);
        munmap((void *)memory, pages * PAGE);
    }
    printf("minor %ld\n", used().ru_minflt);
}

/* steps PAGES ROUNDS: touches fresh pages, says so, and waits for a byte on its standard input, over and over. */
static void do_steps(long pages, long rounds) {
    for (long round = 0; round < rounds; round++) {
        touch(fresh(pages), pages);
        puts("touched");
        fflush(stdout);
        if (getchar() == EOF) abort();
    }
}

/* read PAGES: the kernel touches the pages, inside one system call. */
static void do_read(long pages) {
    volatile char *memory = fresh(pages);
    int zero = open("/dev/zero", O_RDONLY);
    if (read(zero, (void *)memory, pages * PAGE) != pages * PAGE) abort();
    printf("region %d %p %ld\n", thread_id(), (void *)memory, pages);
}

/* mix PAGES: touches pages of two regions in a random order, one in three of them in the first. */
static void do_mix(long pages) {
    volatile char *first = fresh(pages), *second = fresh(pages);
    long in_first = 0, in_second = 0;
    uint64_t random = 42;
    for (long page = 0; page < pages; page++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        if ((random >> 33) % 3 == 0) first[in_first++ * PAGE] = 1;
        else second[in_second++ * PAGE] = 1;
    }
    printf("region %d %p %ld\n", thread_id(), (void *)first, in_first);
    printf("region %d %p %ld\n", thread_id(), (void *)second, in_second);
}

static uint64_t stamp(int counter) {
#ifdef __x86_64__
    if (counter) {
        __builtin_ia32_lfence();
        uint64_t now = __builtin_ia32_rdtsc();
        __builtin_ia32_lfence();
        return now;
    }
#endif
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}

/* stamps PAGES counter|monotonic: the time before and after each fault, with pauses in between. */
static void do_stamps(long pages, const char *clock) {
    int counter = !strcmp(clock, "counter");
    volatile char *memory = fresh(pages);
    uint64_t *times = calloc(pages, 2 * sizeof *times);
    memset(times, 1, pages * 2 * sizeof *times);
    for (long page = 0; page < pages; page++) {
        times[2 * page] = stamp(counter);
        memory[page * PAGE] = 1;
        times[2 * page + 1] = stamp(counter);
        if (page % 100 == 0) nanosleep(&(struct timespec){.tv_nsec = 500000}, 0);
    }
    printf("region %d %p %ld\n", thread_id(), (void *)memory, pages);
    for (long page = 0; page < pages; page++) printf("stamp %lu %lu\n", times[2 * page], times[2 * page + 1]);
}

static pthread_barrier_t all_mapped;

static void *touch_in_thread(void *pages) {
    char name[16];
    snprintf(name, sizeof name, "toucher-%ld", (long)pages);
    prctl(PR_SET_NAME, name);
    volatile char *memory = fresh((long)pages);
    /* Where the stack of a thread that ended was, a fault would belong to two. */
    pthread_barrier_wait(&all_mapped);
    touch(memory, (long)pages);
    printf("region %d %p %ld\n", thread_id(), (void *)memory, (long)pages);
    return 0;
}

/* threads COUNT PAGES: the first touches PAGES pages, the second one more, and so on. */
static void do_threads(long count, long pages) {
    pthread_t *threads = calloc(count, sizeof *threads);
    if (pthread_barrier_init(&all_mapped, 0, count)) abort();
    for (long i = 0; i < count; i++)
        if (pthread_create(&threads[i], 0, touch_in_thread, (void *)(pages + i))) abort();
    for (long i = 0; i < count; i++) pthread_join(threads[i], 0);
}

/* family SELF: a child that touches, and one that execs this program to touch. */
static void do_family(const char *self) {
    printf("parent %d\n", getpid());
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        do_touch(300);
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, 0, 0);
    pid_t other = fork();
    if (other == 0) {
        execl(self, self, "touch", "500", (char *)0);
        abort();
    }
    waitpid(other, 0, 0);
    printf("forked %d\nexeced %d\n", child, other);
}

/* daemon PAGES ROUNDS: the first process ends, its child goes on. */
static void do_daemon(long pages, long rounds) {
    if (fork() == 0) {
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, 0);
        do_storm(pages, rounds);
        printf("daemon %d\n", getpid());
    }
}

/* sleep TIMES */
static void do_sleep(long times) {
    for (long i = 0; i < times; i++) nanosleep(&(struct timespec){.tv_nsec = 1000000}, 0);
    printf("thread %d\nswitches %ld\n", thread_id(), used().ru_nvcsw);
}

/* map: a mapping that touches no other of its kind, so that it stays alone. */
static void do_map(void) {
    char *reserved = mmap(0, 64 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *memory =
        mmap(reserved + 8 * PAGE, 7 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (memory != reserved + 8 * PAGE) abort();
    printf("region %d %p 7\n", thread_id(), (void *)memory);
    char *file = mmap(0, PAGE, PROT_READ, MAP_PRIVATE, open("/proc/self/exe", O_RDONLY), 0);
    printf("region %d %p 1\n", thread_id(), (void *)file);
}

/* disk FILE PAGES: the file's pages are thrown out of memory, then touched. */
static void do_disk(const char *path, long pages) {
    int file = open(path, O_RDONLY);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    volatile char *memory = mmap(0, pages * PAGE, PROT_READ, MAP_PRIVATE, file, 0);
    if (memory == MAP_FAILED) abort();
    madvise((void *)memory, pages * PAGE, MADV_RANDOM);
    long before = used().ru_majflt;
    char sum = 0;
    for (long page = 0; page < pages; page++) sum += memory[page * PAGE];
    printf("region %d %p %ld\n", thread_id(), (void *)memory, pages);
    printf("major %ld\nsum %d\n", used().ru_majflt - before, sum);
}

/* compute MILLISECONDS: of processor time, in the program's own code. */
static void do_compute(long milliseconds) {
    struct timespec spent;
    unsigned value = 1;
    do {
        for (int i = 0; i < 100000; i++) value = value * 1664525 + 1013904223;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    } while (spent.tv_sec * 1000 + spent.tv_nsec / 1000000 < milliseconds);
    printf("code %p\nvalue %u\n", (void *)&do_compute, value);
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "";
    const char *text = count > 2 ? arguments[2] : "";
    long first = atol(text), second = count > 3 ? atol(arguments[3]) : 0;
    if (!strcmp(what, "touch")) do_touch(first);
    else if (!strcmp(what, "huge")) do_huge();
    else if (!strcmp(what, "storm")) do_storm(first, second);
    else if (!strcmp(what, "steps")) do_steps(first, second);
    else if (!strcmp(what, "read")) do_read(first);
    else if (!strcmp(what, "mix")) do_mix(first);
    else if (!strcmp(what, "stamps")) do_stamps(first, count > 3 ? arguments[3] : "");
    else if (!strcmp(what, "threads")) do_threads(first, second);
    else if (!strcmp(what, "family")) do_family(arguments[0]);
    else if (!strcmp(what, "daemon")) do_daemon(first, second);
    else if (!strcmp(what, "sleep")) do_sleep(first);
    else if (!strcmp(what, "map")) do_map();
    else if (!strcmp(what, "disk")) do_disk(text, second);
    else if (!strcmp(what, "compute")) do_compute(first);
    else return 2;
    return 0;
}
