#include "program_break.hpp"

#include <atomic>
#include <cstdlib>
#include <gtest/gtest.h>
#include <malloc.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace memtoll {
namespace {

uintptr_t present_break() { return reinterpret_cast<uintptr_t>(sbrk(0)); }

TEST(ProgramBreak, EachMoveIsToldOnce) {
    start_program_break();
    const uintptr_t before = present_break();
    uintptr_t from = 0, to = 0;
    EXPECT_FALSE(break_moved(from, to));
    sbrk(8192);
    ASSERT_TRUE(break_moved(from, to));
    EXPECT_EQ(from, before);
    EXPECT_EQ(to, before + 8192);
    EXPECT_FALSE(break_moved(from, to));
    sbrk(-8192);
    ASSERT_TRUE(break_moved(from, to));
    EXPECT_EQ(from, before + 8192);
    EXPECT_EQ(to, before);
    sbrk(4096);
    expect_break_where_it_is();
    EXPECT_FALSE(break_moved(from, to));
    sbrk(-4096);
    expect_break_where_it_is();
}

TEST(ProgramBreak, GrowthAndTrimmingInsideTheAllocatorAreSeen) {
    start_program_break();
    uintptr_t from = 0, to = 0;
    std::vector<void*> blocks;
    while (!break_moved(from, to) && blocks.size() < 100'000) blocks.push_back(malloc(50'000));
    EXPECT_GT(to, from);
    for (void* block : blocks) free(block);
    malloc_trim(0);
    ASSERT_TRUE(break_moved(from, to));
    EXPECT_LT(to, from);
}

// However many threads look: what is told fits together, from the first place to the last.
TEST(ProgramBreak, ManyThreadsTellEachMoveOnce) {
    start_program_break();
    const uintptr_t first = present_break();
    std::atomic<bool> stop{false};
    std::atomic<intptr_t> told{0};
    const auto look = [&] {
        uintptr_t from, to;
        if (break_moved(from, to)) told += static_cast<intptr_t>(to - from);
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; ++i)
        threads.emplace_back([&] {
            while (!stop) look();
        });
    for (int i = 0; i < 20'000; ++i) sbrk(i % 3 == 2 ? -8192 : 4096);
    stop = true;
    for (std::thread& thread : threads) thread.join();
    look();
    EXPECT_EQ(static_cast<uintptr_t>(told), present_break() - first);
    sbrk(static_cast<intptr_t>(first) - static_cast<intptr_t>(present_break()));
}

} // namespace
} // namespace memtoll
