/* An allocator that maps its memory when it is loaded, and more in a thread of its own. */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <stddef.h>

#define MAP (MAP_PRIVATE | MAP_ANONYMOUS)
#define ACCESS (PROT_READ | PROT_WRITE)

static char *memory;
static size_t used;
static pthread_t filler;

static void *fills(void *nothing) {
    for (int i = 0; i < 4; ++i) memset(mmap(NULL, 1 << 20, ACCESS, MAP, -1, 0), 1, 1 << 20);
    return nothing;
}

__attribute__((constructor)) static void begins(void) {
    if (!memory) memory = mmap(NULL, 64 << 20, ACCESS, MAP, -1, 0);
    pthread_create(&filler, NULL, fills, NULL);
}

__attribute__((destructor)) static void ends(void) { pthread_join(filler, NULL); }

void *malloc(size_t size) {
    if (!memory) memory = mmap(NULL, 64 << 20, ACCESS, MAP, -1, 0);
    const size_t at = __atomic_fetch_add(&used, (size + 31) & ~(size_t)15, __ATOMIC_RELAXED);
    *(size_t *)(memory + at) = size;
    return memory + at + 16;
}
void free(void *block) { (void)block; }
void *calloc(size_t count, size_t size) { return malloc(count * size); }
void *realloc(void *block, size_t size) {
    void *moved = malloc(size);
    if (block) {
        const size_t old = ((size_t *)block)[-2];
        memcpy(moved, block, old < size ? old : size);
    }
    return moved;
}
