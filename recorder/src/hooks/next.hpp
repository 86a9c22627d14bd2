// The next definitions of the functions that the recorder interposes: what a hook forwards to.
#pragma once

#include "../dynamic.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <spawn.h>
#include <sys/types.h>

namespace memtoll {

// One pointer for each entry of hooks.def.
struct Next {
    void* (*malloc)(size_t);
    void* (*calloc)(size_t, size_t);
    void* (*realloc)(void*, size_t);
    void* (*reallocarray)(void*, size_t, size_t);
    int (*posix_memalign)(void**, size_t, size_t);
    void* (*aligned_alloc)(size_t, size_t);
    void* (*memalign)(size_t, size_t);
    void* (*valloc)(size_t);
    void* (*pvalloc)(size_t);
    void (*free)(void*);
    void (*cfree)(void*);
    void (*free_sized)(void*, size_t);
    void (*free_aligned_sized)(void*, size_t, size_t);

    void* (*new_)(size_t);
    void* (*new_array)(size_t);
    void* (*new_nothrow)(size_t, const void*);
    void* (*new_array_nothrow)(size_t, const void*);
    void* (*new_aligned)(size_t, size_t);
    void* (*new_array_aligned)(size_t, size_t);
    void* (*new_aligned_nothrow)(size_t, size_t, const void*);
    void* (*new_array_aligned_nothrow)(size_t, size_t, const void*);
    void (*delete_)(void*);
    void (*delete_array)(void*);
    void (*delete_sized)(void*, size_t);
    void (*delete_array_sized)(void*, size_t);
    void (*delete_nothrow)(void*, const void*);
    void (*delete_array_nothrow)(void*, const void*);
    void (*delete_aligned)(void*, size_t);
    void (*delete_array_aligned)(void*, size_t);
    void (*delete_sized_aligned)(void*, size_t, size_t);
    void (*delete_array_sized_aligned)(void*, size_t, size_t);
    void (*delete_aligned_nothrow)(void*, size_t, const void*);
    void (*delete_array_aligned_nothrow)(void*, size_t, const void*);

    void* (*mmap)(void*, size_t, int, int, int, off_t);
    void* (*mmap64)(void*, size_t, int, int, int, off_t);
    int (*munmap)(void*, size_t);
    int (*mprotect)(void*, size_t, int);
    int (*pkey_mprotect)(void*, size_t, int, int);
    void* (*mremap)(void*, size_t, size_t, int, void*);
    int (*madvise)(void*, size_t, int);
    int (*brk)(void*);
    void* (*sbrk)(intptr_t);

    int (*pthread_create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    int (*pthread_setname_np)(pthread_t, const char*);
    int (*prctl)(int, unsigned long, unsigned long, unsigned long, unsigned long);

    void* syscall; // jumped to, not called

    int (*setrlimit)(int, const uint64_t*);
    int (*setrlimit64)(int, const uint64_t*);
    int (*prlimit)(pid_t, int, const uint64_t*, uint64_t*);
    int (*prlimit64)(pid_t, int, const uint64_t*, uint64_t*);
    int (*mlockall)(int);

    void (*_exit)(int);
    void (*_Exit)(int);
    void (*quick_exit)(int);
    void (*abort)();

    pid_t (*fork)();
    pid_t (*_Fork)();

    int (*execve)(const char*, char* const*, char* const*);
    int (*execv)(const char*, char* const*);
    int (*execvp)(const char*, char* const*);
    int (*execvpe)(const char*, char* const*, char* const*);
    int (*fexecve)(int, char* const*, char* const*);
    int (*execveat)(int, const char*, char* const*, char* const*, int);
    void* execl; // forwarded to execv, execvp and execve, which take their arguments as arrays
    void* execlp;
    void* execle;
    int (*posix_spawn)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const*,
                       char* const*);
    int (*posix_spawnp)(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*, char* const*,
                        char* const*);

    void* dlopen; // jumped to, not called
    void* dlmopen;
    int (*dlclose)(void*);
};

extern Next next;
// The same, except that functions which the executable defines itself are the executable's (imports.cpp).
extern Next overridden;
extern std::atomic<bool> next_is_known;

void find_next();
// Before the first use of `next`.
inline void need_next() {
    if (!next_is_known.load(std::memory_order_acquire)) [[unlikely]]
        find_next();
}

// The next definition, looked for once more where it was not there at start: a C program may load C++ later, and before
// glibc 2.34 threads and dlopen are in libraries of their own.
template <class Function> [[gnu::always_inline]] inline Function* known(Function*& pointer, const char* symbol) {
    if (!pointer) [[unlikely]]
        pointer = reinterpret_cast<Function*>(find_symbol(symbol, Where::kAfterRecorder));
    return pointer;
}

} // namespace memtoll
