/* far_behind RECORDING: threads call faster than memtoll packs until the program ends. One block is lost. When memtoll lets the program
   go, it says how long the recording is, in bytes, forgets the other block, and makes a third. */
#include "e2e.h"
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#define FEWEST_THREADS 4
#define PAIRS 4000000

static const char *recording;
static char *volatile held;
static long threads;

SITE static void *churned(unsigned bytes) { return checked(malloc(bytes)); }
SITE static char *lost_block(void) { char *block = checked(calloc(1, 100)); STAY(); return block; }

static void *churn(void *unused) {
    for (long i = 0; i < PAIRS / threads; ++i) free(churned(16 + i % 500));
    return unused;
}

static void goes_on(void) {
    struct stat file;
    if (!stat(recording, &file)) say_number("recorded", file.st_size);
    held = NULL;
    keep(checked(calloc(1, 400)));
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    recording = arguments[1];
    held = checked(calloc(1, 200));
    keep(lost_block());
    threads = sysconf(_SC_NPROCESSORS_ONLN);
    if (threads < FEWEST_THREADS) threads = FEWEST_THREADS;
    pthread_t *all = checked(calloc(threads, sizeof *all));
    for (long i = 0; i < threads; ++i)
        if (pthread_create(&all[i], NULL, churn, NULL)) return 1;
    for (long i = 0; i < threads; ++i) pthread_join(all[i], NULL);
    free(all);
    at_quick_exit(goes_on);
    quick_exit(0);
}
