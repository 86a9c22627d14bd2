/* The program's own pools: chunks from malloc and mmap, nested ones, and some that are dropped with all their blocks. */
#include "memtoll.h"
#include "pages.h"
#include <pthread.h>

struct pool {
    char *chunk;
    size_t used;
};

/* The caller is the call site. */
__attribute__((always_inline)) static inline char *take(struct pool *pool, size_t bytes) {
    char *block = pool->chunk + pool->used;
    pool->used += (bytes + 15) & ~(size_t)15;
    memtoll_alloc(block, bytes);
    return block;
}

SITE static struct pool by_malloc(const char *name, size_t bytes) {
    struct pool pool = {(char *)checked(malloc(bytes)), 0};
    memtoll_pool_begin(name, pool.chunk, bytes);
    return pool;
}

SITE static struct pool by_mmap(const char *name, size_t bytes) {
    struct pool pool = {mapped(mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)), 0};
    memtoll_pool_begin(name, pool.chunk, bytes);
    return pool;
}

/* -- counts -- */

static char *enemy[100];

SITE static void enemies(struct pool *pool) {
    for (int i = 0; i < 100; ++i) enemy[i] = take(pool, 48);
    STAY();
}

SITE static void kill_some(void) {
    for (int i = 0; i < 40; ++i) memtoll_free(enemy[i]);
    STAY();
}

SITE static void grows(struct pool *pool) {
    char *block = take(pool, 100);
    pool->used += 1000;
    memtoll_realloc(block, block, 500); /* where it is */
    char *other = pool->chunk + pool->used;
    pool->used += 2000;
    memtoll_realloc(block, other, 2000);
    memtoll_realloc(NULL, pool->chunk + pool->used, 10);
    STAY();
}

SITE static void ends(struct pool *pool) {
    memtoll_pool_end(pool->chunk);
    free(pool->chunk);
    STAY();
}

SITE static void level(void) {
    struct pool pool = by_malloc("level", 100000);
    enemies(&pool);
    kill_some();
    grows(&pool);
    ends(&pool);
    STAY();
}

/* -- pools in pools, and chunks that go without a word -- */

SITE static struct pool inner(struct pool *outer) {
    struct pool pool = {take(outer, 4000), 0};
    memtoll_pool_begin("inner", pool.chunk, 4000);
    return pool;
}

SITE static void in_inner(struct pool *pool) {
    for (int i = 0; i < 10; ++i) keep(take(pool, 100)); /* the first one where the chunk begins */
    STAY();
}

SITE static void forgotten(void) {
    struct pool outer = by_malloc("outer", 10000);
    struct pool pool = inner(&outer);
    in_inner(&pool);
    free(outer.chunk); /* all of it */
    struct pool by_map = by_mmap("mapped", 16 * PAGE);
    in_inner(&by_map);
    munmap(by_map.chunk, 16 * PAGE);
    STAY();
}

SITE static void again_and_again(void) {
    struct pool frame = by_malloc("frame", 5000);
    for (int i = 0; i < 7; ++i) {
        memtoll_pool_begin("frame", frame.chunk, 5000); /* releases the last one's blocks */
        frame.used = 0;
        in_inner(&frame);
    }
    memtoll_pool_end(frame.chunk);
    for (int i = 0; i < 3; ++i) {
        memtoll_alloc(frame.chunk, 500);     /* without a pool: the chunk lends it all the same, */
        memtoll_alloc(frame.chunk + 8, 500); /* and one block takes the place of another */
    }
    memtoll_free(frame.chunk + 8);
    memtoll_free(frame.chunk + 8); /* there is none */
    memtoll_free(NULL);
    memtoll_alloc(NULL, 77); /* failed */
    free(frame.chunk);
    STAY();
}

/* -- two threads -- */

enum { kRounds = 20000 };
static struct pool shared;

SITE static void *takes_and_gives(void *half) {
    char *mine = shared.chunk + (half ? PAGE : 0);
    for (int i = 0; i < kRounds; ++i) {
        char *block = mine + i % 8 * 64;
        memtoll_alloc(block, 64);
        memtoll_free(block);
    }
    memtoll_alloc(mine, 640); /* for the other thread to give back */
    return mine;
}

SITE static void threads(void) {
    shared = by_mmap("shared", 2 * PAGE);
    pthread_t other;
    void *theirs;
    if (pthread_create(&other, NULL, takes_and_gives, &other)) _exit(95);
    void *mine = takes_and_gives(NULL);
    pthread_join(other, &theirs);
    memtoll_free(mine);
    memtoll_free(theirs);
    memtoll_pool_end(shared.chunk);
    STAY();
}

/* -- who is charged -- */

SITE static char *texture(struct pool *pool, long pages) { return take(pool, (size_t)(pages * PAGE)); }
SITE static char *mesh(struct pool *pool, long pages) { return take(pool, (size_t)(pages * PAGE)); }

SITE static void touched(void) {
    struct pool of_malloc = by_malloc("touched", 400 * PAGE), of_mmap = by_mmap("touched", 300 * PAGE);
    touch(texture(&of_malloc, 100), 100);
    touch(mesh(&of_malloc, 50), 50);
    touch(of_malloc.chunk + of_malloc.used, 30); /* not handed out */
    touch(texture(&of_mmap, 200), 200);
    touch(of_mmap.chunk + of_mmap.used, 7);
    STAY(); /* and all of it stays */
}

int main(int count, char **arguments) {
    small_pages_only();
    warm_up();
    if (count > 1 && strcmp(arguments[1], "touched") == 0) {
        touched();
        say_faults();
        return 0;
    }
    level();
    forgotten();
    again_and_again();
    threads();
    return 0;
}
