/* own_arenas THREADS: an executable with an allocator like Firefox's: malloc, and the same of an arena, whose blocks either frees. */
#include "e2e.h"
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

static char memory[64 << 20] __attribute__((aligned(4096)));
static atomic_size_t used;
static atomic_ulong allocations, bytes, frees;

static void *take(size_t alignment, size_t size) {
    const size_t room = size + sizeof(size_t) + alignment;
    const size_t start = (atomic_fetch_add(&used, room) + sizeof(size_t) + alignment - 1) / alignment * alignment;
    ((size_t *)(memory + start))[-1] = size;
    return memory + start;
}

SITE void *malloc(size_t size) { return take(16, size); }
SITE void free(void *block) {
    if (block) ((size_t *)block)[-1] = 0;
}
SITE void *calloc(size_t count, size_t size) { return take(16, count * size); }
SITE void *realloc(void *block, size_t size) {
    void *moved = take(16, size);
    if (block) memcpy(moved, block, ((size_t *)block)[-1] < size ? ((size_t *)block)[-1] : size);
    return moved;
}
SITE void *moz_arena_malloc(size_t arena, size_t size) { return take(16 << arena, size); }
SITE void *moz_arena_calloc(size_t arena, size_t count, size_t size) { return take(16 << arena, count * size); }
SITE void *moz_arena_memalign(size_t arena, size_t alignment, size_t size) { return take(alignment << arena, size); }
SITE void *moz_arena_realloc(size_t arena, void *block, size_t size) {
    char *moved = take(16 << arena, size);
    memcpy(moved, block, ((size_t *)block)[-1] < size ? ((size_t *)block)[-1] : size);
    return moved;
}
SITE void moz_arena_free(size_t arena, void *block) {
    if (block) ((size_t *)block)[-1] = arena;
}

static void *counted(void *block, size_t size) {
    ++allocations;
    bytes += size;
    return block;
}

SITE static void *work(void *unused) {
    for (size_t i = 1; i <= 300; ++i) {
        void *a = counted(moz_arena_malloc(1, i), i);
        void *b = counted(moz_arena_calloc(2, i, 3), i * 3);
        void *c = counted(moz_arena_memalign(0, 64, i + 7), i + 7);
        a = counted(moz_arena_realloc(1, a, i * 2), i * 2);
        ++frees;
        void *d = counted(malloc(i), i);
        moz_arena_free(1, a);
        moz_arena_free(2, b);
        free(c);
        free(d);
        frees += 4;
    }
    STAY();
    return unused;
}

int main(int count, char **arguments) {
    pthread_t threads[64];
    const int number = count > 1 ? atoi(arguments[1]) : 1;
    for (int i = 0; i < number; ++i) pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < number; ++i) pthread_join(threads[i], NULL);
    say_number("allocations", (long)allocations);
    say_number("bytes", (long)bytes);
    say_number("frees", (long)frees);
    return 0;
}
