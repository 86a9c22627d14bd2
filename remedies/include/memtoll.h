/* Marks in a memtoll recording: points in time and regions of time with names, for `memtoll report --between-marks`.
 *
 * Header only, C99 and C++. Without the recorder (an ordinary run) every call does nothing: it costs one comparison
 * after the first, which looks for the recorder with dlsym. Link with -ldl on glibc before 2.34. On Windows, where there
 * is no recorder, nothing is left of a call.
 *
 *     memtoll_mark("level loaded");
 *     memtoll_region_begin("frame");  ...  memtoll_region_end("frame");
 *
 * Names are copied, at most 65,000 bytes. Any thread may call these at any time. Regions may nest and overlap; a region
 * belongs to the calling thread. */
#ifndef MEMTOLL_H
#define MEMTOLL_H

#ifndef _WIN32
#include <dlfcn.h>
#include <string.h>
#endif

/* In C++ one function in the whole program: inline members of classes may call it. */
#ifdef __cplusplus
#define MEMTOLL_INLINE inline
#else
#define MEMTOLL_INLINE static inline
#endif

enum memtoll_mark_type { MEMTOLL_INSTANT = 0, MEMTOLL_REGION_BEGIN = 1, MEMTOLL_REGION_END = 2 };

MEMTOLL_INLINE void memtoll_record_mark(int type, const char* name) {
#ifdef _WIN32
    (void)type, (void)name;
#else
    typedef void (*record_function)(int, const char*);
    static void* found; /* null: nobody has looked yet; its own address: there is no recorder */
    record_function record;
    /* Threads may look at the same time; they find the same. gcc and clang have these builtins in C and in C++. */
    void* function = __atomic_load_n(&found, __ATOMIC_RELAXED);
    if (!function) {
        function = dlsym(RTLD_DEFAULT, "memtoll_recorder_mark");
        if (!function) function = &found;
        __atomic_store_n(&found, function, __ATOMIC_RELAXED);
    }
    if (function == &found) return;
    memcpy(&record, &function, sizeof record); /* ISO C has no cast from an object's address to a function */
    record(type, name);
#endif
}

/* Marks this instant. */
MEMTOLL_INLINE void memtoll_mark(const char* name) { memtoll_record_mark(MEMTOLL_INSTANT, name); }

/* Starts a region; memtoll_region_end with the same name, on the same thread, ends it. */
MEMTOLL_INLINE void memtoll_region_begin(const char* name) { memtoll_record_mark(MEMTOLL_REGION_BEGIN, name); }
MEMTOLL_INLINE void memtoll_region_end(const char* name) { memtoll_record_mark(MEMTOLL_REGION_END, name); }

#undef MEMTOLL_INLINE

#endif
