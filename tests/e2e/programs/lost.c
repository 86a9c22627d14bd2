/* Leaves blocks in ways that are named by the first argument, and ends by exit(), or by what the second one names.
 *
 * No pointer is left behind by accident: blocks are made in functions of their own, and what their frames and registers had is
 * overwritten before the end. */
#include "e2e.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <signal.h>
#include <sys/mman.h>

struct node { struct node *next; char rest[56]; };

SITE static struct node *kept_node(void) { struct node *block = checked(malloc(sizeof *block)); STAY(); return block; }
SITE static struct node *lost_head(void) { struct node *block = checked(malloc(sizeof *block)); STAY(); return block; }
SITE static struct node *lost_tail(void) { struct node *block = checked(malloc(sizeof *block)); STAY(); return block; }
SITE static char *inner_block(void) { char *block = checked(calloc(1, 100)); STAY(); return block; }
SITE static char *held_block(void) { char *block = checked(calloc(1, 200)); STAY(); return block; }
SITE static char *large_block(void) { char *block = checked(malloc(300000)); STAY(); return block; }
/* 24 bytes fill their chunk: malloc's own pointer to the chunk behind them points to their last 8. */
SITE static char *last_block(void) { char *block = checked(malloc(24)); STAY(); return block; }

static struct node *volatile global_list;
static char *volatile global_inner;
static _Thread_local char *volatile own_variable;
static pthread_barrier_t has_begun;

/* A list of `count` nodes that only the global variable leads to. */
SITE static void keep_list(int count) {
    for (int i = 0; i < count; ++i) {
        struct node *node = kept_node();
        node->next = global_list;
        global_list = node;
    }
    STAY();
}

/* A head, and `count` more behind it, that nothing leads to. */
SITE static void lose_list(int count) {
    struct node *list = NULL;
    for (int i = 0; i < count; ++i) {
        struct node *node = lost_tail();
        node->next = list;
        list = node;
    }
    struct node *head = lost_head();
    head->next = list;
    STAY();
}

/* What LeakSanitizer asks for: only a program that is compiled so has it. */
#ifdef SUPPRESSED
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) { return "# known\nleak:" SUPPRESSED "\n"; }
#endif

SITE static void keep_inner(void) { global_inner = inner_block() + 40; STAY(); }
SITE static void lose_large(void) { keep(large_block()); STAY(); }
SITE static void lose_last(void) { keep(last_block()); STAY(); }

/* In a mapping of the program's own, which it may not write any more. */
SITE static void keep_in_mapping(void) {
    char **page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) _exit(92);
    page[7] = held_block();
    if (mprotect(page, 4096, PROT_READ) != 0) _exit(93);
    STAY();
}

/* In an event that the kernel waits for. */
SITE static void keep_in_kernel(void) {
    int ends[2];
    struct epoll_event event = {.events = EPOLLIN};
    event.data.ptr = held_block();
    if (pipe(ends) != 0 || epoll_ctl(epoll_create1(0), EPOLL_CTL_ADD, ends[0], &event) != 0) _exit(95);
    keep(&event);
    STAY();
}

/* Overwrites what earlier calls left on the stack. */
SITE static void overwrite(void) {
    volatile char room[16384];
    for (size_t i = 0; i < sizeof room; ++i) room[i] = 1;
    STAY();
}

SITE static void wait_for_ever(void) {
    pthread_barrier_wait(&has_begun);
    for (;;) pause();
}

static void *holds_on_stack(void *none) {
    char *volatile block = held_block();
    overwrite();
    wait_for_ever();
    keep(block);
    return none;
}

static void *holds_in_variable(void *none) {
    own_variable = held_block();
    overwrite();
    wait_for_ever();
    return none;
}

/* What this thread had on its stack, the C library keeps for the next one. */
static void *loses(void *none) {
    char *volatile block = held_block();
    keep(block);
    return none;
}

static void begin(void *(*what)(void *), int ends) {
    pthread_t thread;
    pthread_barrier_init(&has_begun, NULL, 2);
    if (pthread_create(&thread, NULL, what, NULL) != 0) _exit(94);
    if (ends) pthread_join(thread, NULL);
    else pthread_barrier_wait(&has_begun);
}

SITE static void leave(const char *how) {
    overwrite();
    if (strcmp(how, "_exit") == 0) _exit(0);
    if (strcmp(how, "abort") == 0) abort();
    if (strcmp(how, "signal") == 0) raise(SIGKILL);
    exit(0);
}

/* The block's address is in a register only, which calls preserve, until _exit is called. */
SITE static void leave_with_register(void) {
    register char *block __asm__("rbx") = held_block();
    __asm__ volatile("" : "+r"(block));
    overwrite();
    __asm__ volatile("" : "+r"(block));
    _exit((int)((unsigned long)block & 1));
}

static int is(const char *what, const char *name) { return strcmp(what, name) == 0; }

int main(int count, char **words) {
    const char *what = count > 1 ? words[1] : "";
    const char *how = count > 2 ? words[2] : "";
    if (is(what, "lists")) { keep_list(5); lose_list(3); keep_inner(); lose_large(); }
    if (is(what, "kept")) keep_list(5);
    if (is(what, "last")) lose_last();
    if (is(what, "mapping")) keep_in_mapping();
    if (is(what, "epoll")) keep_in_kernel();
    if (is(what, "stack")) begin(holds_on_stack, 0);
    if (is(what, "variable")) begin(holds_in_variable, 0);
    if (is(what, "thread")) begin(loses, 1);
    if (is(what, "register")) leave_with_register();
    if (is(what, "fork")) {
        keep_list(5);
        if (fork() == 0) {
            lose_list(3);
            keep_list(2);
        }
    }
    leave(how);
}
