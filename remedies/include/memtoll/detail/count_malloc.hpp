// malloc and its relatives, which count and go on to the next definition. For count_allocations.hpp, which says more.
//
// free is left alone: the library that defined the next malloc has defined that, too. So is reallocarray: it calls realloc.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <dlfcn.h>

// The last call of a function becomes a jump: then the recorder sees the caller as the call site. clang does that in
// optimised builds only.
#ifdef __clang__
#define MEMTOLL_TAIL_CALLING
#else
#define MEMTOLL_TAIL_CALLING [[gnu::optimize("O2")]]
#endif

namespace memtoll::detail {

// A function's next definition in the order of loading. It is looked up at the first call; what the look-up allocates
// itself is refused, which the C library puts up with.
template <class Result, class... Arguments> class next_function {
public:
    using pointer = Result (*)(Arguments...) noexcept;
    constexpr next_function(const char* name, pointer refusal) noexcept : name_(name), refusal_(refusal) {}

    pointer get() noexcept {
        const pointer known = known_.load(std::memory_order_relaxed);
        return known ? known : look_up();
    }

private:
    [[gnu::noinline]] pointer look_up() noexcept {
        static thread_local bool looking = false;
        if (looking) return refusal_;
        looking = true;
        const auto found = reinterpret_cast<pointer>(dlsym(RTLD_NEXT, name_));
        looking = false;
        if (!found) return refusal_;
        known_.store(found, std::memory_order_relaxed);
        return found;
    }

    const char* const name_;
    const pointer refusal_;
    std::atomic<pointer> known_{nullptr};
};

inline void* refuse_malloc(std::size_t) noexcept { return nullptr; }
inline void* refuse_two(std::size_t, std::size_t) noexcept { return nullptr; }
inline void* refuse_realloc(void*, std::size_t) noexcept { return nullptr; }
inline int refuse_posix_memalign(void**, std::size_t, std::size_t) noexcept { return ENOMEM; }

static next_function<void*, std::size_t> next_malloc("malloc", refuse_malloc);
static next_function<void*, std::size_t, std::size_t> next_calloc("calloc", refuse_two);
static next_function<void*, void*, std::size_t> next_realloc("realloc", refuse_realloc);
static next_function<void*, std::size_t, std::size_t> next_memalign("memalign", refuse_two);
static next_function<void*, std::size_t, std::size_t> next_aligned_alloc("aligned_alloc", refuse_two);
static next_function<int, void**, std::size_t, std::size_t> next_posix_memalign("posix_memalign", refuse_posix_memalign);
static next_function<void*, std::size_t> next_valloc("valloc", refuse_malloc);
static next_function<void*, std::size_t> next_pvalloc("pvalloc", refuse_malloc);

MEMTOLL_FIRST void malloc_is_counted() { allocations_are_counted = true; }

} // namespace memtoll::detail

extern "C" {

MEMTOLL_TAIL_CALLING void* malloc(std::size_t size) noexcept {
    memtoll::detail::count_allocation(size);
    return memtoll::detail::next_malloc.get()(size);
}

MEMTOLL_TAIL_CALLING void* calloc(std::size_t count, std::size_t size) noexcept {
    memtoll::detail::count_allocation(count * size);
    return memtoll::detail::next_calloc.get()(count, size);
}

MEMTOLL_TAIL_CALLING void* realloc(void* block, std::size_t size) noexcept {
    memtoll::detail::count_allocation(size);
    return memtoll::detail::next_realloc.get()(block, size);
}

MEMTOLL_TAIL_CALLING void* memalign(std::size_t alignment, std::size_t size) noexcept {
    memtoll::detail::count_allocation(size);
    return memtoll::detail::next_memalign.get()(alignment, size);
}

MEMTOLL_TAIL_CALLING void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
    memtoll::detail::count_allocation(size);
    return memtoll::detail::next_aligned_alloc.get()(alignment, size);
}

MEMTOLL_TAIL_CALLING int posix_memalign(void** block, std::size_t alignment, std::size_t size) noexcept {
    memtoll::detail::count_allocation(size);
    return memtoll::detail::next_posix_memalign.get()(block, alignment, size);
}

MEMTOLL_TAIL_CALLING void* valloc(std::size_t size) noexcept {
    memtoll::detail::count_allocation(size);
    return memtoll::detail::next_valloc.get()(size);
}

MEMTOLL_TAIL_CALLING void* pvalloc(std::size_t size) noexcept {
    memtoll::detail::count_allocation(size);
    return memtoll::detail::next_pvalloc.get()(size);
}

} // extern "C"

#undef MEMTOLL_TAIL_CALLING
