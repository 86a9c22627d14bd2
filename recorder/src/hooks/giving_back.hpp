// Before much memory is given back, the resident set is perhaps as large as it will ever be: the supervisor may look at its pages
// first.
#pragma once

#include "../arch/arch.hpp"
#include "../top_of_heap.hpp"

#include <cstddef>
#include <cstdint>

namespace memtoll {

// Less than this is not worth a look. Giving it back costs the program at least some ten microseconds.
inline constexpr size_t kMuchMemory = 1 << 20;

// Waits for the look, if there is to be one. `frame` is the hook's, which has not begun yet.
[[gnu::noinline, gnu::cold]] void before_giving_back(arch::HookFrame frame);

// Whether a block is one of glibc's that have a mapping of their own, a large one, which goes when the block is freed. These begin 16
// bytes behind the start of a page, and the word before them has the length of the mapping and a flag. Other blocks are
// told apart by their addresses alone, but for one of 256.
[[gnu::always_inline]] inline bool has_large_mapping(const void* block) {
    constexpr uintptr_t kOffsetInPage = 4096 - 1, kHeader = 16, kIsMapped = 2;
    if ((reinterpret_cast<uintptr_t>(block) & kOffsetInPage) != kHeader) [[likely]]
        return false;
    const uint64_t length = static_cast<const uint64_t*>(block)[-1];
    return (length & kOffsetInPage) == kIsMapped && length >= kMuchMemory;
}

// Whether the free of a block at the top of the heap makes glibc lower the heap's end: true once until the heap grows again. False if
// malloc is not glibc's.
[[gnu::noinline, gnu::cold]] bool lowers_heap(const void* block);

} // namespace memtoll
