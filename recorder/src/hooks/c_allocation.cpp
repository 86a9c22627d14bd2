// malloc and its relatives.
#include "../kernel.hpp"
#include "scope.hpp"

namespace memtoll {
namespace {

// realloc, reallocarray: gives back the old block and acquires the new one, in one call.
template <class Real>
[[gnu::always_inline]] inline void* reallocate(HookKind kind, void* block, size_t size, Real real) {
    HookScope scope(MEMTOLL_FRAME());
    if (!scope) [[unlikely]]
        return real();
    scope.begin_call();
    void* result = real();
    scope.end_call();
    const uint32_t node = scope.stack_node();
    // A null result with a size says that the old block is still there; with size 0, that it was freed.
    if (block && (result || size == 0))
        append(scope.log(), wire::kReallocFrom, scope.began(), scope.began(), reinterpret_cast<uint64_t>(block), 0, node);
    scope.append_call(kind, reinterpret_cast<uint64_t>(result), size & wire::kSizeMask, node);
    publish(scope.log());
    return result;
}

} // namespace
} // namespace memtoll

using namespace memtoll;

MEMTOLL_EVENT_HOOK(void*, malloc, (size_t size), (size)) {
    return acquire(k_malloc, size, 0, [&] { return next.malloc(size); });
}

MEMTOLL_EVENT_HOOK(void*, calloc, (size_t count, size_t size), (count, size)) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) bytes = wire::kSizeMask;
    return acquire(k_calloc, bytes, 0, [&] { return next.calloc(count, size); });
}

MEMTOLL_EVENT_HOOK(void*, realloc, (void* block, size_t size), (block, size)) {
    return reallocate(k_realloc, block, size, [&] { return next.realloc(block, size); });
}

MEMTOLL_EVENT_HOOK(void*, reallocarray, (void* block, size_t count, size_t size), (block, count, size)) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) bytes = wire::kSizeMask;
    return reallocate(k_reallocarray, block, bytes, [&] { return next.reallocarray(block, count, size); });
}

MEMTOLL_EVENT_HOOK(int, posix_memalign, (void** out, size_t alignment, size_t size), (out, alignment, size)) {
    return event(
        k_posix_memalign, [&] { return next.posix_memalign(out, alignment, size); },
        [&](int error) {
            return Described{true, error ? 0 : reinterpret_cast<uint64_t>(*out),
                             (size & wire::kSizeMask) | log2_of(alignment) << wire::kDetailShift};
        });
}

MEMTOLL_EVENT_HOOK(void*, aligned_alloc, (size_t alignment, size_t size), (alignment, size)) {
    return acquire(k_aligned_alloc, size, log2_of(alignment), [&] { return next.aligned_alloc(alignment, size); });
}

MEMTOLL_EVENT_HOOK(void*, memalign, (size_t alignment, size_t size), (alignment, size)) {
    return acquire(k_memalign, size, log2_of(alignment), [&] { return next.memalign(alignment, size); });
}

MEMTOLL_EVENT_HOOK(void*, valloc, (size_t size), (size)) {
    return acquire(k_valloc, size, log2_of(kernel::page_bytes()), [&] { return next.valloc(size); });
}

MEMTOLL_EVENT_HOOK(void*, pvalloc, (size_t size), (size)) {
    return acquire(k_pvalloc, kernel::whole_pages(size), log2_of(kernel::page_bytes()), [&] { return next.pvalloc(size); });
}

MEMTOLL_EVENT_HOOK(void, free, (void* block), (block)) {
    release(k_free, block, [&] { next.free(block); });
}

// Gone from glibc since 2.26, but old programs still bring calls to it.
MEMTOLL_EVENT_HOOK(void, cfree, (void* block), (block)) {
    release(k_cfree, block, [&] { next.cfree ? next.cfree(block) : overridden.free(block); });
}

// C23; glibc has them since 2.43.
MEMTOLL_EVENT_HOOK(void, free_sized, (void* block, size_t size), (block, size)) {
    release(k_free_sized, block, [&] { next.free_sized ? next.free_sized(block, size) : overridden.free(block); });
}

MEMTOLL_EVENT_HOOK(void, free_aligned_sized, (void* block, size_t alignment, size_t size), (block, alignment, size)) {
    release(k_free_aligned_sized, block, [&] {
        next.free_aligned_sized ? next.free_aligned_sized(block, alignment, size) : overridden.free(block);
    });
}
