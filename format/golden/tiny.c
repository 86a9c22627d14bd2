// Every kind of event of the heap, in known numbers. See README.md.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void* volatile kept;

static void* worker(void* unused) {
    for (int i = 0; i < 100; ++i) free(malloc(100 + (i % 3) * 50)); // temporary
    return unused;
}

int main(void) {
    void* blocks[1000];
    for (int i = 0; i < 1000; ++i) blocks[i] = malloc(24);
    for (int i = 0; i < 1000; i += 2) free(blocks[i]);
    char* text = NULL;
    for (size_t size = 16; size <= 1 << 16; size *= 2) {
        text = realloc(text, size);
        memset(text, 1, size);
    }
    void* aligned = aligned_alloc(64, 640);
    kept = calloc(3, 1000);
    void* volatile none = malloc((size_t)1 << 46); // fails
    free(none);                                    // a null pointer
    free(aligned);
    void* mapping = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(mapping, 1 << 20);
    pthread_t thread;
    pthread_create(&thread, NULL, worker, NULL);
    pthread_join(thread, NULL);
    free(text);
    return 3;
}
