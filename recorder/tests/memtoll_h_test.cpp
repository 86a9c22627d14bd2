// memtoll.h in C++; tests/e2e/programs/marks.c includes it in C.
#include "memtoll.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string_view>
#include <thread>
#include <vector>

namespace {

std::atomic<int> marks[3];

} // namespace

// Stands in for the recorder's function.
extern "C" __attribute__((visibility("default"))) void memtoll_recorder_mark(int type, const char* name) {
    if (type >= 0 && type < 3 && std::string_view(name) == "frame") ++marks[type];
}

TEST(MemtollH, MarksOfManyThreadsArrive) {
    constexpr int kThreads = 8;
    std::atomic<int> waiting = kThreads;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&] {
            // All look for the recorder at the same time.
            --waiting;
            while (waiting > 0) std::this_thread::yield();
            memtoll_mark("frame");
            memtoll_region_begin("frame");
            memtoll_region_end("frame");
        });
    }
    for (std::thread& thread : threads) thread.join();
    for (const std::atomic<int>& count : marks) EXPECT_EQ(count, kThreads);
}
