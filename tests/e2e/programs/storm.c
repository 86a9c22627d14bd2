/* As many page faults as the machine can do: says how many there were. */
#include "pages.h"
#include <pthread.h>

SITE static char *fresh(void) {
    return mapped(mmap(0, 4096 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}
static void *faults(void *rounds) {
    for (long i = 0; i < (long)rounds; ++i) {
        char *memory = fresh();
        touch(memory, 4096);
        munmap(memory, 4096 * PAGE);
    }
    return 0;
}

int main(void) {
    small_pages_only();
    pthread_t threads[4];
    for (int i = 0; i < 4; ++i)
        if (pthread_create(&threads[i], 0, faults, (void *)20)) _exit(97);
    for (int i = 0; i < 4; ++i) pthread_join(threads[i], 0);
    say_faults();
    return 0;
}
