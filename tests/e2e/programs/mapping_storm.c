/* Busy threads that make all calls for mappings, more threads than processors. */
#include "pages.h"
#include <malloc.h>
#include <pthread.h>

#define THREADS 6
#define ROUNDS 400
#define BYTES (128 * PAGE)

SITE static void *storms(void *unused) {
    volatile unsigned long work = 0;
    for (int round = 0; round < ROUNDS; ++round) {
        char *pages = mapped(mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        touch(pages, BYTES / PAGE);
        if (madvise(pages, BYTES, MADV_DONTNEED)) _exit(92);
        pages = mapped(mremap(pages, BYTES, 2 * BYTES, MREMAP_MAYMOVE));
        touch(pages, BYTES / PAGE);
        char *block = checked(malloc(BYTES)); /* mapped by malloc */
        touch(block, BYTES / PAGE);
        free(block);
        if (munmap(pages, 2 * BYTES)) _exit(92);
        for (int i = 0; i < 20000; ++i) work += i;
    }
    return unused;
}

int main(void) {
    small_pages_only();
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    warm_up();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; ++i)
        if (pthread_create(&threads[i], NULL, storms, NULL)) return 1;
    for (int round = 0; round < ROUNDS; ++round) {
        char *end = sbrk(BYTES);
        if (end == (char *)-1) return 2;
        touch(end, BYTES / PAGE);
        if (sbrk(-BYTES) == (void *)-1) return 2;
    }
    for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], NULL);
    say_faults();
    return 0;
}
