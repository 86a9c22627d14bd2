/* A malloc with one lock around it, as an allocator's own; the program may see to it that the lock is held for long. */
#include <pthread.h>
#include <stddef.h>

void *__libc_malloc(size_t size);

void (*while_locked)(size_t size);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *malloc(size_t size) {
    pthread_mutex_lock(&lock);
    void *block = __libc_malloc(size);
    if (while_locked) while_locked(size);
    pthread_mutex_unlock(&lock);
    return block;
}
