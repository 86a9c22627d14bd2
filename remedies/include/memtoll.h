/* What a program itself tells a memtoll recording: marks in time, and the blocks of its own allocators.
 *
 * Header only, C99 and C++. Without the recorder (an ordinary run) every call does nothing: it costs one comparison
 * after the first, which looks for the recorder with dlsym. Link with -ldl on glibc before 2.34. On Windows, where there
 * is no recorder, nothing is left of a call.
 *
 * Any thread may call these at any time. Names are copied, at most 65,000 bytes.
 *
 * Marks: points in time and regions of time, for `memtoll report --between-marks` and `--regions`. Regions may nest and
 * overlap; a region belongs to the calling thread.
 *
 *     memtoll_mark("level loaded");
 *     memtoll_region_begin("frame");  ...  memtoll_region_end("frame");
 *
 * Pools and arenas: a program that takes large chunks and hands out parts of them says so, and its blocks are counted and
 * charged to the lines that asked for them, as those of malloc are.
 *
 *     char* chunk = malloc(1 << 20);                  // or mmap, or a static array
 *     memtoll_pool_begin("level", chunk, 1 << 20);
 *     ...
 *     struct enemy* enemy = my_take(&pool, sizeof *enemy);
 *     memtoll_alloc(enemy, sizeof *enemy);            // best in my_take itself
 *     ...
 *     memtoll_free(enemy);                            // before my_take may hand it out again
 *     my_give_back(&pool, enemy);
 *     ...
 *     memtoll_pool_end(chunk);                        // releases what is still handed out
 *     free(chunk);
 *
 * Each byte counts once, for the innermost block: what is handed out for the block, the rest for the chunk. A page fault
 * is charged to the block whose byte was touched first. Pools nest: a chunk may be a block of another pool.
 *
 *   - A chunk that is freed, reallocated or unmapped ends its pool. To empty one, begin it again.
 *   - A block that overlaps blocks handed out earlier releases them. A block may lie outside of all pools.
 *   - A null pointer is a failed allocation, as from malloc, or nothing to release. */
#ifndef MEMTOLL_H
#define MEMTOLL_H

#include <stddef.h>
#ifndef _WIN32
#include <dlfcn.h>
#include <string.h>
#endif

/* In C++ one function in the whole program: inline members of classes may call it. Always inlined, so that the recorder
 * finds the line of the program, also without debug information. */
#ifdef _WIN32
#define MEMTOLL_IN_LINE
#else
#define MEMTOLL_IN_LINE __attribute__((always_inline))
#endif
#ifdef __cplusplus
#define MEMTOLL_INLINE MEMTOLL_IN_LINE inline
#else
#define MEMTOLL_INLINE MEMTOLL_IN_LINE static inline
#endif

/* memtoll attach, which comes to a running program, finds this section in the program's file and writes the address of a
 * function there, which finds the recorder's others. */
#ifdef __ELF__ /* not Windows */
extern void* (*memtoll_attached)(const char*);
__attribute__((weak, visibility("hidden"), section("memtoll_finder"))) void* (*memtoll_attached)(const char*) = NULL;
#define MEMTOLL_LOOKS_AGAIN(FOUND) (memtoll_function == (FOUND) && __atomic_load_n(&memtoll_attached, __ATOMIC_ACQUIRE))
#define MEMTOLL_FIND(NAME) (memtoll_attached ? memtoll_attached(NAME) : dlsym(RTLD_DEFAULT, NAME))
#else
#define MEMTOLL_LOOKS_AGAIN(FOUND) 0
#define MEMTOLL_FIND(NAME) dlsym(RTLD_DEFAULT, NAME)
#endif

/* Calls FUNCTION of the recorder, if there is one, with what follows. `found` is null before the first look, and its
 * own address when there is no recorder. Threads may look at the same time; they find the same. gcc and clang have these
 * builtins in C and in C++. ISO C has no cast from an object's address to a function, hence memcpy. */
#ifdef _WIN32
#define MEMTOLL_TELL(FUNCTION, PARAMETERS, ...) (void)0
#else
#define MEMTOLL_TELL(FUNCTION, PARAMETERS, ...)                                                                         \
    do {                                                                                                                \
        static void* found;                                                                                             \
        void* memtoll_function = __atomic_load_n(&found, __ATOMIC_RELAXED);                                             \
        if (!memtoll_function || MEMTOLL_LOOKS_AGAIN(&found)) {                                                         \
            memtoll_function = MEMTOLL_FIND(#FUNCTION);                                                                 \
            if (!memtoll_function) memtoll_function = &found;                                                           \
            __atomic_store_n(&found, memtoll_function, __ATOMIC_RELAXED);                                               \
        }                                                                                                               \
        if (memtoll_function != &found) {                                                                               \
            void(*memtoll_call) PARAMETERS;                                                                             \
            memcpy(&memtoll_call, &memtoll_function, sizeof memtoll_call);                                              \
            memtoll_call(__VA_ARGS__);                                                                                  \
        }                                                                                                               \
    } while (0)
#endif

enum memtoll_mark_type { MEMTOLL_INSTANT = 0, MEMTOLL_REGION_BEGIN = 1, MEMTOLL_REGION_END = 2 };

MEMTOLL_INLINE void memtoll_record_mark(int type, const char* name) {
    (void)type, (void)name;
    MEMTOLL_TELL(memtoll_recorder_mark, (int, const char*), type, name);
}

/* Marks this instant. */
MEMTOLL_INLINE void memtoll_mark(const char* name) { memtoll_record_mark(MEMTOLL_INSTANT, name); }

/* Starts a region; memtoll_region_end with the same name, on the same thread, ends it. */
MEMTOLL_INLINE void memtoll_region_begin(const char* name) { memtoll_record_mark(MEMTOLL_REGION_BEGIN, name); }
MEMTOLL_INLINE void memtoll_region_end(const char* name) { memtoll_record_mark(MEMTOLL_REGION_END, name); }

/* `chunk`, of `bytes`, is handed out in parts from now on. Reports name the pool; several chunks may have one name. */
MEMTOLL_INLINE void memtoll_pool_begin(const char* name, const void* chunk, size_t bytes) {
    (void)name, (void)chunk, (void)bytes;
    MEMTOLL_TELL(memtoll_recorder_pool_begin, (const char*, const void*, size_t), name, chunk, bytes);
}

/* The chunk is no pool any more. What is still handed out of it is released. */
MEMTOLL_INLINE void memtoll_pool_end(const void* chunk) {
    (void)chunk;
    MEMTOLL_TELL(memtoll_recorder_pool_end, (const void*), chunk);
}

/* A block was handed out. To be called when it was, by the thread that asked for it. */
MEMTOLL_INLINE void memtoll_alloc(const void* block, size_t bytes) {
    (void)block, (void)bytes;
    MEMTOLL_TELL(memtoll_recorder_alloc, (const void*, size_t), block, bytes);
}

/* A block is given back. To be called before it can be handed out again. */
MEMTOLL_INLINE void memtoll_free(const void* block) {
    (void)block;
    MEMTOLL_TELL(memtoll_recorder_free, (const void*), block);
}

/* `old` has become `block`, which may be at the same place: a reallocation. Where `old` is null, an allocation. */
MEMTOLL_INLINE void memtoll_realloc(const void* old, const void* block, size_t bytes) {
    (void)old, (void)block, (void)bytes;
    MEMTOLL_TELL(memtoll_recorder_realloc, (const void*, const void*, size_t), old, block, bytes);
}

#undef MEMTOLL_TELL
#undef MEMTOLL_FIND
#undef MEMTOLL_LOOKS_AGAIN
#undef MEMTOLL_INLINE
#undef MEMTOLL_IN_LINE

#endif
