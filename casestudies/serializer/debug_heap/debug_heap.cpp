// A debug heap, as a shared library that programs are linked with. Fresh and freed blocks are filled with patterns, so
// that the use of either shows. Behind each block stands a guard, and each call checks the guards of the blocks last
// allocated, so that what wrote over one is not far away.
//
// All that happens under one lock. free(nullptr) takes it, too: this is what the story is about.
//
// The memory itself comes from glibc, under the names that glibc has for its own functions.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
}

namespace {

constexpr int kFresh = 0xcd;
constexpr int kFreed = 0xdd;
constexpr char kGuard[8] = {'\xfd', '\xfd', '\xfd', '\xfd', '\xfd', '\xfd', '\xfd', '\xfd'};

struct Watched {
    char* block; // null: none, or freed
    size_t size;
};
Watched watched[64]; // the blocks last allocated; guarded by the lock, as all here
unsigned next_watched;

void check_guards() {
    for (const Watched& w : watched) {
        if (!w.block || std::memcmp(w.block + w.size, kGuard, sizeof kGuard) == 0) continue;
        constexpr char kMessage[] = "debug heap: something wrote behind the end of a block\n";
        [[maybe_unused]] const auto written = write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
        std::abort();
    }
}

void* watch(void* block, size_t size) {
    if (!block) return nullptr;
    std::memcpy(static_cast<char*>(block) + size, kGuard, sizeof kGuard);
    watched[next_watched++ % std::size(watched)] = {static_cast<char*>(block), size};
    return block;
}

void* fill_and_watch(void* block, size_t size) {
    if (block) std::memset(block, kFresh, size);
    return watch(block, size);
}

void forget(const void* block) {
    for (Watched& w : watched)
        if (w.block == block) w.block = nullptr;
}

// What is allocated for a block of `size`. The sum does not overflow; glibc refuses all sizes near SIZE_MAX.
size_t with_guard(size_t size) { return size <= PTRDIFF_MAX ? size + sizeof kGuard : size; }

pthread_mutex_t heap_lock = PTHREAD_MUTEX_INITIALIZER;

class LockAndCheck {
public:
    LockAndCheck() {
        pthread_mutex_lock(&heap_lock);
        check_guards();
    }
    ~LockAndCheck() { pthread_mutex_unlock(&heap_lock); }
    LockAndCheck(const LockAndCheck&) = delete;
    LockAndCheck& operator=(const LockAndCheck&) = delete;
};

} // namespace

extern "C" {

void* malloc(size_t size) {
    const LockAndCheck lock;
    return fill_and_watch(__libc_malloc(with_guard(size)), size);
}

void* calloc(size_t count, size_t size) {
    const LockAndCheck lock;
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) {
        errno = ENOMEM;
        return nullptr;
    }
    return watch(__libc_calloc(1, with_guard(total)), total);
}

void* realloc(void* block, size_t size) {
    const LockAndCheck lock;
    forget(block);
    return watch(__libc_realloc(block, with_guard(size)), size);
}

void* memalign(size_t alignment, size_t size) {
    const LockAndCheck lock;
    return fill_and_watch(__libc_memalign(alignment, with_guard(size)), size);
}

void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void** result, size_t alignment, size_t size) {
    const bool is_power_of_two = alignment != 0 && (alignment & (alignment - 1)) == 0;
    if (!is_power_of_two || alignment % sizeof(void*) != 0) return EINVAL;
    void* block = memalign(alignment, size);
    if (!block) return ENOMEM;
    *result = block;
    return 0;
}

void free(void* block) {
    const LockAndCheck lock;
    if (!block) return;
    forget(block);
    std::memset(block, kFreed, malloc_usable_size(block));
    __libc_free(block);
}

} // extern "C"
