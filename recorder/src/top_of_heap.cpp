#include "top_of_heap.hpp"

namespace memtoll {

constinit std::atomic<uintptr_t> top_of_heap{0};

void heap_has_moved(uintptr_t first, uintptr_t from, uintptr_t to) {
    // While it shrinks, the look before is the highest.
    const bool is_much = to > from && to > first && to - first >= 2 * kTopOfHeap;
    top_of_heap.store(is_much ? to - kTopOfHeap : 0, std::memory_order_relaxed);
}

bool joins_top(const void* block, uintptr_t begin, uintptr_t end) {
    constexpr uintptr_t kAlignment = 16, kHeader = 16;
    constexpr uint64_t kBeforeIsUsed = 1, kElsewhere = 6, kFlags = 7;
    const uintptr_t address = reinterpret_cast<uintptr_t>(block);
    if (address % kAlignment != 0 || address < begin + kHeader || address >= end) return false;
    const uint64_t* const words = static_cast<const uint64_t*>(block);
    const uint64_t size = words[-1] & ~kFlags;
    if (words[-1] & kElsewhere || size >= end - address || size < 2 * kHeader) return false;
    const uintptr_t next = address - kHeader + size;
    const uint64_t top = reinterpret_cast<const uint64_t*>(next)[1] & ~kFlags;
    if (top != end - next) return false;
    const uint64_t before = words[-1] & kBeforeIsUsed ? 0 : words[-2];
    return before + size + top >= kLeastTrim;
}

} // namespace memtoll
