// The top of glibc's main heap: what is free there is given back inside of `free`, by lowering the end of the heap, and no hook sees
// that. So blocks near the end are looked at before they are freed.
//
// All other frees pay for a subtraction and a comparison.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace memtoll {

// A heap that has grown by less is not worth a look; the free memory on top of a growing heap is less, too.
inline constexpr uintptr_t kTopOfHeap = 1 << 20;
// glibc gives back no less, unless the program sets M_TRIM_THRESHOLD.
inline constexpr size_t kLeastTrim = 128 << 10;

// Where the last kTopOfHeap bytes of the heap begin; 0: these do not matter now.
extern std::atomic<uintptr_t> top_of_heap;

// The end of the heap has moved. `first`: where it was at first.
void heap_has_moved(uintptr_t first, uintptr_t from, uintptr_t to);

// Whether a block of glibc's joins as much free memory at the end of its heap as glibc gives back. All between `begin` and `end` can be
// read; other allocators' blocks there, too, join nothing.
bool joins_top(const void* block, uintptr_t begin, uintptr_t end);

[[gnu::always_inline]] inline bool is_at_top_of_heap(const void* block) {
    return reinterpret_cast<uintptr_t>(block) - top_of_heap.load(std::memory_order_relaxed) < kTopOfHeap;
}

} // namespace memtoll
