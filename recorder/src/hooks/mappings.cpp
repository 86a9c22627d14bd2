// Memory mapped and unmapped through the C library's functions, by the program or by an allocator that is not the C
// library's own (whose mappings do not pass through these symbols).
#include "../unwind/stack_mappings.hpp"
#include "../resource_usage.hpp"
#include "scope.hpp"

#include <cstdarg>
#include <sys/mman.h>

namespace memtoll {
namespace {

// The detail bits of a mapping's record (format/FORMAT.md lists them).
uint64_t mapping_detail(int protection, int flags) {
    uint64_t detail = 0;
    if (flags & MAP_ANONYMOUS) detail |= 1 << 0;
    if (flags & MAP_SHARED) detail |= 1 << 1;
    if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) detail |= 1 << 2;
    if (flags & MAP_POPULATE) detail |= 1 << 3;
    if (flags & MAP_STACK) detail |= 1 << 4;
    if (flags & MAP_NORESERVE) detail |= 1 << 5;
    if (flags & MAP_HUGETLB) detail |= 1 << 6;
    if (protection == PROT_NONE) detail |= 1 << 7;
    if (protection & PROT_EXEC) detail |= 1 << 8;
    return detail;
}

void stacks_may_end_elsewhere(const void* address, size_t length) {
    unwind::stack_mappings::forget(reinterpret_cast<uintptr_t>(address), length);
}

// A call has filled memory at once. The kernel counts its page faults, but shows none of them: they must be known as part of
// the call, whose time is known. `before`: what was counted until then.
[[gnu::noinline, gnu::cold]] void record_filling(arch::HookFrame frame, uint64_t before) {
    const uint64_t after = faults_of_this_thread();
    if (after <= before) return;
    HookScope scope(frame);
    if (!scope) return;
    scope.no_call();
    const uint64_t time = now();
    append(scope.log(), wire::kFilled, time, time, after - before, 0, 0);
    publish(scope.log());
}

template <class Real>
[[gnu::always_inline]] inline void* map(HookKind kind, size_t length, int protection, int flags, Real real) {
    const bool fills = flags & (MAP_POPULATE | MAP_LOCKED);
    const uint64_t before = fills ? faults_of_this_thread() : 0;
    void* const result = event(kind, real, [&](void* address) {
        stacks_may_end_elsewhere(address, length);
        return Described{address != MAP_FAILED, reinterpret_cast<uint64_t>(address),
                         (length & wire::kSizeMask) | mapping_detail(protection, flags) << wire::kDetailShift};
    });
    if (fills) [[unlikely]]
        record_filling(MEMTOLL_FRAME(), before);
    return result;
}

} // namespace
} // namespace memtoll

using namespace memtoll;

MEMTOLL_EVENT_HOOK_OF_SIX(void*, mmap, (void* hint, size_t length, int protection, int flags, int fd, off_t offset),
                   (hint, length, protection, flags, fd, offset)) {
    return map(k_mmap, length, protection, flags,
               [&] { return next.mmap(hint, length, protection, flags, fd, offset); });
}

MEMTOLL_EVENT_HOOK_OF_SIX(void*, mmap64, (void* hint, size_t length, int protection, int flags, int fd, off64_t offset),
                   (hint, length, protection, flags, fd, offset)) {
    return map(k_mmap64, length, protection, flags,
               [&] { return next.mmap64(hint, length, protection, flags, fd, offset); });
}

MEMTOLL_EVENT_HOOK(int, munmap, (void* address, size_t length), (address, length)) {
    if (length >= kMuchMemory) [[unlikely]]
        before_giving_back(MEMTOLL_FRAME());
    return event(
        k_munmap, [&] { return next.munmap(address, length); },
        [&](int error) {
            stacks_may_end_elsewhere(address, length);
            return Described{error == 0, reinterpret_cast<uint64_t>(address), length & wire::kSizeMask};
        });
}

namespace {

[[gnu::always_inline]] inline void* hook_mremap(Next& next, void* address, size_t old_length, size_t new_length, int flags,
                                                void* place) {
    HookScope scope(MEMTOLL_FRAME());
    if (!scope) [[unlikely]]
        return next.mremap(address, old_length, new_length, flags, place);
    scope.begin_call();
    void* result = next.mremap(address, old_length, new_length, flags, place);
    scope.end_call();
    stacks_may_end_elsewhere(address, old_length);
    if (result != MAP_FAILED) {
        const uint32_t node = scope.stack_node();
        append(scope.log(), wire::kReallocFrom, scope.began(), scope.began(), reinterpret_cast<uint64_t>(address),
               old_length & wire::kSizeMask, node);
        append(scope.log(), k_mremap, scope.began(), scope.ended(), reinterpret_cast<uint64_t>(result),
               new_length & wire::kSizeMask, node);
        publish(scope.log());
    }
    return result;
}

} // namespace

// The fifth argument is only there with MREMAP_FIXED or MREMAP_DONTUNMAP; passing it on is harmless otherwise.
MEMTOLL_HOOK void* mremap(void* address, size_t old_length, size_t new_length, int flags, ...) noexcept {
    va_list rest;
    va_start(rest, flags);
    void* place = va_arg(rest, void*);
    va_end(rest);
    return hook_mremap(memtoll::next, address, old_length, new_length, flags, place);
}
MEMTOLL_WITH_TABLE(mremap)

MEMTOLL_EVENT_HOOK(int, madvise, (void* address, size_t length, int advice), (address, length, advice)) {
    constexpr int kPopulateRead = 22, kPopulateWrite = 23; // Linux 5.14
    const bool fills = advice == kPopulateRead || advice == kPopulateWrite;
    const uint64_t before = fills ? faults_of_this_thread() : 0;
    const bool gives_back = advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE;
    if (gives_back && length >= kMuchMemory) [[unlikely]]
        before_giving_back(MEMTOLL_FRAME());
    const int result = event(
        k_madvise, [&] { return next.madvise(address, length, advice); },
        [&](int error) {
            return Described{error == 0, reinterpret_cast<uint64_t>(address),
                             (length & wire::kSizeMask) | static_cast<uint64_t>(advice & 0xffff) << wire::kDetailShift};
        });
    if (fills) [[unlikely]]
        record_filling(MEMTOLL_FRAME(), before);
    return result;
}

namespace {

template <class Real>
[[gnu::always_inline]] inline int protect(HookKind kind, void* address, size_t length, int protection, Real real) {
    return event(kind, real, [&](int error) {
        stacks_may_end_elsewhere(address, length);
        return Described{error == 0, reinterpret_cast<uint64_t>(address),
                         (length & wire::kSizeMask) | mapping_detail(protection, 0) << wire::kDetailShift};
    });
}

} // namespace

MEMTOLL_EVENT_HOOK(int, mprotect, (void* address, size_t length, int protection), (address, length, protection)) {
    return protect(k_mprotect, address, length, protection, [&] { return next.mprotect(address, length, protection); });
}

MEMTOLL_EVENT_HOOK(int, pkey_mprotect, (void* address, size_t length, int protection, int key),
                   (address, length, protection, key)) {
    return protect(k_pkey_mprotect, address, length, protection,
                   [&] { return next.pkey_mprotect(address, length, protection, key); });
}

MEMTOLL_EVENT_HOOK(int, brk, (void* end_of_heap), (end_of_heap)) {
    return event(
        k_brk, [&] { return next.brk(end_of_heap); },
        [&](int error) {
            expect_break_where_it_is();
            return Described{error == 0, reinterpret_cast<uint64_t>(end_of_heap), 0};
        });
}

MEMTOLL_EVENT_HOOK(void*, sbrk, (intptr_t increment), (increment)) {
    return event(
        k_sbrk, [&] { return next.sbrk(increment); },
        [&](void* old_end) {
            expect_break_where_it_is();
            const uint64_t size = static_cast<uint64_t>(increment < 0 ? -increment : increment);
            return Described{old_end != reinterpret_cast<void*>(-1), reinterpret_cast<uint64_t>(old_end),
                             (size & wire::kSizeMask) | uint64_t{increment < 0} << wire::kDetailShift};
        });
}
