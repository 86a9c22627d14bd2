/* own_jemalloc: an allocator inside the executable, under the names and with the signatures that jemalloc has there. Threads
 * (how many: the argument) call it through a wrapper that counts every call and byte. */
#include "e2e.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#define API __attribute__((noipa, visibility("hidden")))
#define LG_ALIGN(flags) ((flags) & 63)

static char memory[256 << 20] __attribute__((aligned(4096)));
static atomic_size_t used;
static _Atomic(void *) free_blocks[4096];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The usable size stands before each block. */
#define USABLE(block) (((size_t *)(block))[-1])

API void *je_mallocx(size_t size, int flags);
API void *je_malloc(size_t size);
API void *je_calloc(size_t count, size_t size);
API void *je_realloc(void *block, size_t size);
API void *je_rallocx(void *block, size_t size, int flags);
API size_t je_xallocx(void *block, size_t size, size_t extra, int flags);
API int je_posix_memalign(void **block, size_t alignment, size_t size);
API void *je_aligned_alloc(size_t alignment, size_t size);
API void je_free(void *block);
API void je_dallocx(void *block, int flags);
API void je_sdallocx(void *block, size_t size, int flags);

API void *je_mallocx(size_t size, int flags) {
    const size_t whole = (size + 63) & ~(size_t)63, index = whole / 64;
    const size_t alignment = LG_ALIGN(flags) > 6 ? (size_t)1 << LG_ALIGN(flags) : 64;
    void *block = NULL;
    pthread_mutex_lock(&lock);
    if (alignment == 64 && index < 4096 && (block = free_blocks[index])) free_blocks[index] = *(void **)block;
    pthread_mutex_unlock(&lock);
    if (block) return block;
    const size_t room = atomic_fetch_add(&used, whole + 64 + alignment) + (size_t)memory;
    block = (void *)((room + 64 + alignment - 1) & ~(alignment - 1));
    USABLE(block) = whole;
    return block;
}
API void *je_malloc(size_t size) { return je_mallocx(size, 0); }
API void *je_calloc(size_t count, size_t size) {
    void *block = je_malloc(count * size);
    return memset(block, 0, count * size);
}
API void je_dallocx(void *block, int flags) {
    (void)flags;
    const size_t index = USABLE(block) / 64;
    if (index >= 4096) return;
    pthread_mutex_lock(&lock);
    *(void **)block = free_blocks[index];
    free_blocks[index] = block;
    pthread_mutex_unlock(&lock);
}
API void je_free(void *block) {
    if (block) je_dallocx(block, 0);
}
API void je_sdallocx(void *block, size_t size, int flags) {
    if (size > USABLE(block)) abort();
    je_dallocx(block, flags);
}
API void *je_rallocx(void *block, size_t size, int flags) {
    if (size <= USABLE(block) && size > USABLE(block) / 2) return block;
    void *moved = je_mallocx(size, flags);
    memcpy(moved, block, size < USABLE(block) ? size : USABLE(block));
    je_dallocx(block, flags);
    return moved;
}
API void *je_realloc(void *block, size_t size) { return block ? je_rallocx(block, size, 0) : je_malloc(size); }
API size_t je_xallocx(void *block, size_t size, size_t extra, int flags) {
    (void)size, (void)extra, (void)flags;
    return USABLE(block);
}
API int je_posix_memalign(void **block, size_t alignment, size_t size) {
    if (alignment > 4096) return EINVAL;
    *block = je_mallocx(size, __builtin_ctzl(alignment));
    return 0;
}
API void *je_aligned_alloc(size_t alignment, size_t size) { return je_mallocx(size, __builtin_ctzl(alignment)); }

static atomic_ulong allocations, bytes, frees;

/* What tells that it is there when names are gone. */
const char *volatile message = "<jemalloc>: Malformed conf string";

static void *counted(void *block, size_t size) {
    ++allocations;
    bytes += size;
    return block;
}

SITE static void work(unsigned random) {
    for (int i = 0; i < 300; ++i) {
        random = random * 1664525 + 1013904223;
        const size_t size = 16 + (random >> 20);
        void *a = counted(je_malloc(size), size), *b = counted(je_calloc(3, size), 3 * size);
        void *c = counted(je_mallocx(size, 7), size), *d = counted(je_aligned_alloc(256, size), size), *e;
        if (je_posix_memalign(&e, 64, size) == 0) counted(e, size);
        if (je_posix_memalign(&e, 1 << 20, size) == 0) abort();
        ++frees, a = counted(je_realloc(a, size * 5), size * 5);
        ++frees, b = counted(je_rallocx(b, size, 0), size);
        /* In place, if there is room; otherwise nothing has changed. */
        if (je_xallocx(c, size + 20, 0, 0) >= size + 20) ++frees, counted(c, size + 20);
        if (je_xallocx(c, 1 << 20, 0, 0) >= 1 << 20) abort();
        frees += 5;
        je_free(a), je_dallocx(b, 0), je_sdallocx(c, size, 0), je_free(d), je_free(e);
        je_free(NULL);
    }
    STAY();
}

static void *thread(void *seed) {
    work((unsigned)(uintptr_t)seed);
    return NULL;
}

int main(int count, char **arguments) {
    const int threads = count > 1 ? atoi(arguments[1]) : 1;
    pthread_t ids[64];
    for (int i = 1; i < threads; ++i)
        if (pthread_create(&ids[i], NULL, thread, (void *)(uintptr_t)i)) return 1;
    work(0);
    for (int i = 1; i < threads; ++i) pthread_join(ids[i], NULL);
    say_number("allocations", (long)allocations);
    say_number("bytes", (long)bytes);
    say_number("frees", (long)frees);
    return 0;
}
