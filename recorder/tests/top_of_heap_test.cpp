#include "top_of_heap.hpp"

#include <cstdlib>
#include <gtest/gtest.h>

namespace memtoll {
namespace {

// A heap of one page: a chunk that is free or in use, one in use, and the top.
struct Heap {
    alignas(4096) uint64_t words[512] = {};

    // Chunks of these bytes; the last one is the top, which need not end with the page.
    Heap(uint64_t before, bool is_free, uint64_t size, uint64_t top) {
        const size_t block = before / 8;
        words[1] = before | 1;
        words[block] = before;
        words[block + 1] = size | (is_free ? 0 : 1);
        words[block + size / 8 + 1] = top | 1;
        end = reinterpret_cast<uintptr_t>(words) + before + size + top;
        freed = &words[block + 2];
    }

    bool joins() const { return joins_top(freed, begin, end); }

    uintptr_t begin = reinterpret_cast<uintptr_t>(words), end;
    void* freed;
};

TEST(TopOfHeap, IsWhatIsFreeOnBothSides) {
    EXPECT_TRUE(Heap(64, false, 256, kLeastTrim - 256).joins());
    EXPECT_FALSE(Heap(64, false, 256, kLeastTrim - 256 - 16).joins());
    EXPECT_TRUE(Heap(64, true, 256, kLeastTrim - 256 - 64).joins());
    EXPECT_FALSE(Heap(64, true, 256, kLeastTrim - 256 - 80).joins());
}

TEST(TopOfHeap, IsNotWhereAnotherBlockFollows) {
    Heap heap(64, false, 256, 2 * kLeastTrim);
    heap.end += 16;
    EXPECT_FALSE(heap.joins());
    heap.end = reinterpret_cast<uintptr_t>(heap.freed);
    EXPECT_FALSE(heap.joins());
}

TEST(TopOfHeap, IsNotOfOtherArenasAndMappings) {
    for (const uint64_t flag : {2, 4}) {
        Heap heap(64, false, 256, 2 * kLeastTrim);
        static_cast<uint64_t*>(heap.freed)[-1] |= flag;
        EXPECT_FALSE(heap.joins());
    }
}

TEST(TopOfHeap, NothingIsReadOutsideOfTheHeap) {
    Heap heap(64, false, 256, 2 * kLeastTrim);
    EXPECT_FALSE(joins_top(heap.words, heap.begin, heap.end));
    EXPECT_FALSE(joins_top(static_cast<char*>(heap.freed) + 8, heap.begin, heap.end));
    heap.begin = reinterpret_cast<uintptr_t>(heap.freed);
    EXPECT_FALSE(heap.joins());
    heap.begin -= 16;
    EXPECT_TRUE(heap.joins());
}

TEST(TopOfHeap, IsWatchedWhileTheHeapGrows) {
    constexpr uintptr_t kFirst = 1 << 30;
    heap_has_moved(kFirst, kFirst, kFirst + 2 * kTopOfHeap - 4096);
    EXPECT_EQ(top_of_heap, 0u);
    heap_has_moved(kFirst, kFirst, kFirst + 2 * kTopOfHeap);
    EXPECT_EQ(top_of_heap, kFirst + kTopOfHeap);
    heap_has_moved(kFirst, kFirst + 4 * kTopOfHeap, kFirst + 3 * kTopOfHeap);
    EXPECT_EQ(top_of_heap, 0u);
}

} // namespace
} // namespace memtoll
