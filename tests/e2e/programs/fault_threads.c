/* Memory that one thread takes, another one touches, and a third one touches and gives back. */
#include "pages.h"
#include <malloc.h>
#include <pthread.h>

static char *block, *mapping, *more;

SITE static void allocates(void) {
    block = checked(malloc(300 * PAGE - 64));
    mapping = mapped(mmap(0, 100 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    more = mapped(mmap(0, 100 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}
SITE static void touches(void) {
    touch(block, 300);
    touch(more, 100);
}
SITE static void frees(void) {
    touch(mapping, 100);
    free(block);
    munmap(mapping, 100 * PAGE);
    STAY();
}

/* Threads begin when they have their names. */
static pthread_barrier_t named;

static void *in_thread(void *work) {
    pthread_barrier_wait(&named);
    ((void (*)(void))work)();
    return 0;
}
static void run(const char *name, void (*work)(void)) {
    pthread_t thread;
    if (pthread_create(&thread, 0, in_thread, (void *)work)) _exit(97);
    pthread_setname_np(thread, name);
    pthread_barrier_wait(&named);
    pthread_join(thread, 0);
}

int main(void) {
    small_pages_only();
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    warm_up();
    pthread_barrier_init(&named, 0, 2);
    run("allocates", allocates);
    run("touches", touches);
    run("frees", frees);
    say_faults();
    return 0;
}
