#include "next.hpp"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>

namespace memtoll {

Next next;
bool next_is_resolved = false;
alignas(64) char bootstrap_memory[kBootstrapBytes];

namespace {

// -- while dlsym runs ------------------------------------------------------------------------------------------------
// dlsym may allocate (for an error's text). It then comes here, since there is no next definition yet.

std::atomic<size_t> bootstrap_used{0};

void* bootstrap_memalign(size_t alignment, size_t size) {
    if (alignment < 16) alignment = 16;
    size_t used = bootstrap_used.load(std::memory_order_relaxed);
    size_t start;
    do {
        start = (used + alignment - 1) & ~(alignment - 1);
        if (size > kBootstrapBytes || start > kBootstrapBytes - size) return nullptr;
    } while (!bootstrap_used.compare_exchange_weak(used, start + size, std::memory_order_relaxed));
    return bootstrap_memory + start;
}

void* bootstrap_malloc(size_t size) { return bootstrap_memalign(16, size); }

void* bootstrap_calloc(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return nullptr;
    return bootstrap_malloc(bytes); // never handed out before, so still zero
}

void* bootstrap_realloc(void* block, size_t size) {
    void* fresh = bootstrap_malloc(size);
    if (!fresh || !block) return fresh;
    // The old size is not known, but it cannot reach beyond the new block's start.
    const auto available = static_cast<size_t>(static_cast<char*>(fresh) - static_cast<char*>(block));
    memcpy(fresh, block, size < available ? size : available);
    return fresh;
}

void bootstrap_free(void*) {}

// -- the look-up -----------------------------------------------------------------------------------------------------

std::atomic<bool> resolving{false};

template <class Function> void look_up(Function*& pointer, const char* symbol) {
    if (void* found = dlsym(RTLD_NEXT, symbol)) pointer = reinterpret_cast<Function*>(found);
}

} // namespace

bool resolve_next() {
    bool expected = false;
    if (!resolving.compare_exchange_strong(expected, true, std::memory_order_acq_rel)) return next_is_resolved;
    const int saved_errno = errno;
    next.malloc = bootstrap_malloc;
    next.calloc = bootstrap_calloc;
    next.realloc = bootstrap_realloc;
    next.memalign = bootstrap_memalign;
    next.aligned_alloc = bootstrap_memalign;
    next.free = bootstrap_free;
    Next found{};
#define EVENT(number, name, symbol) look_up(found.name, symbol);
#define SILENT(name, symbol) look_up(found.name, symbol);
#include "hooks.def"
#undef EVENT
#undef SILENT
    next = found;
    errno = saved_errno;
    std::atomic_thread_fence(std::memory_order_release);
    next_is_resolved = true;
    return true;
}

void* find_late(const char* symbol) {
    const auto open = reinterpret_cast<void* (*)(const char*, int)>(next.dlopen);
    void* program = open(nullptr, RTLD_LAZY | RTLD_NOLOAD);
    link_map* map = nullptr;
    if (!program || dlinfo(program, RTLD_DI_LINKMAP, &map) != 0) return nullptr;
    Dl_info self;
    const char* own_name = dladdr(&next, &self) ? self.dli_fname : "";
    for (; map; map = map->l_next) {
        if (!map->l_name || map->l_name[0] == 0 || strcmp(map->l_name, own_name) == 0) continue;
        void* handle = open(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
        if (!handle) continue;
        void* found = dlsym(handle, symbol);
        next.dlclose(handle);
        Dl_info where;
        if (found && dladdr(found, &where) && strcmp(where.dli_fname, own_name) != 0) return found;
    }
    return nullptr;
}

} // namespace memtoll
