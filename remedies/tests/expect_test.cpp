#include <memtoll/count_allocations.hpp>
#include <memtoll/expect.hpp>

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#if !defined(_WIN32)
#include <malloc.h>
#endif

// How often a failed allocation counts, and an aligned one of C: sanitizers do not tell of all.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kFailed = 0, kAligned = 1;
#elif defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kFailed = 1, kAligned = 0;
#else
constexpr std::uint64_t kFailed = 1, kAligned = 1;
#endif

namespace {

void* volatile kept; // so that no allocation is optimised away

void allocate(std::size_t bytes) {
    kept = ::operator new(bytes);
    ::operator delete(kept);
}

std::uint64_t allocations_in(void (*work)()) {
    memtoll::expect_no_allocations scope;
    work();
    return scope.end().allocations;
}

TEST(Expect, NothingAllocatedIsAsExpected) {
    memtoll::expect_no_allocations scope("quiet");
    const auto result = scope.end();
    EXPECT_TRUE(result) << result.what();
    EXPECT_EQ(result.allocations, 0u);
}

TEST(Expect, AnAllocationTooManyIsNotAsExpected) {
    memtoll::expect_at_most scope(2);
    allocate(100);
    allocate(20);
    EXPECT_TRUE(memtoll::expect_at_most(0).end());
    allocate(3);
    const auto result = scope.end();
    EXPECT_FALSE(result);
    EXPECT_EQ(result.allocations, 3u);
    EXPECT_EQ(result.bytes, 123u);
    EXPECT_EQ(result.expected, 2u);
}

TEST(Expect, TheResultSaysWhereAndHowMany) {
    const int line = __LINE__ + 1;
    memtoll::expect_no_allocations scope("frame");
    allocate(100);
    const auto result = scope.end();
    const std::string expected = std::string(__FILE__) + ":" + std::to_string(line) +
                                 ": frame: 1 allocations of 100 bytes together, at most 0 expected";
    EXPECT_EQ(result.what(), expected);
    EXPECT_EQ(result.line, line);
    EXPECT_STREQ(result.file, __FILE__);
}

TEST(Expect, LongNamesAreCut) {
    const std::string name(5000, 'n');
    memtoll::expect_no_allocations scope(name.c_str());
    const auto result = scope.end();
    const std::string_view text = result.what();
    EXPECT_EQ(text.size(), 511u);
    EXPECT_EQ(text.back(), 'n');
}

int reported;
std::uint64_t reported_allocations;

TEST(Expect, TheHandlerIsToldAndItsOwnAllocationsDoNotCount) {
    reported = 0;
    const auto before = memtoll::on_unexpected_allocations([](const memtoll::scope_allocations& result) {
        ++reported;
        reported_allocations = result.allocations;
        allocate(1000);
    });
    {
        memtoll::expect_at_most outer(2);
        for (int i = 0; i < 2; ++i) {
            const memtoll::expect_no_allocations inner;
            allocate(1);
        }
        { const memtoll::expect_at_most as_expected(1); }
        EXPECT_EQ(outer.end().allocations, 2u);
    }
    EXPECT_EQ(reported, 2);
    EXPECT_EQ(reported_allocations, 1u);
    memtoll::on_unexpected_allocations(before);
}

TEST(ExpectDeathTest, WithoutAHandlerTheProgramEnds) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            const memtoll::expect_no_allocations scope("frame");
            allocate(100);
        },
        "expect_test.cpp:.*: frame: 1 allocations of 100 bytes together, at most 0 expected");
}

TEST(Expect, OtherThreadsAllocationsDoNotCount) {
    std::uint64_t in_thread = 0;
    // Made before: a thread's start allocates on the thread that starts it.
    bool go = false, done = false;
    std::mutex mutex;
    std::condition_variable changed;
    std::thread thread([&] {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return go; });
        in_thread = allocations_in([] { allocate(1); });
        done = true;
        changed.notify_all();
    });
    {
        std::unique_lock lock(mutex);
        memtoll::expect_no_allocations scope;
        go = true;
        changed.notify_all();
        changed.wait(lock, [&] { return done; });
        EXPECT_TRUE(scope.end());
    }
    thread.join();
    EXPECT_EQ(in_thread, 1u);
}

struct alignas(64) line {
    char bytes[64];
};

TEST(Expect, EveryFormOfNewCountsOnce) {
    EXPECT_EQ(allocations_in([] { kept = std::make_unique<int>(1).get(); }), 1u);
    EXPECT_EQ(allocations_in([] { kept = std::make_unique<int[]>(10).get(); }), 1u);
    EXPECT_EQ(allocations_in([] { kept = std::unique_ptr<int>(new (std::nothrow) int).get(); }), 1u);
    EXPECT_EQ(allocations_in([] { kept = std::make_unique<line>().get(); }), 1u);
    EXPECT_EQ(allocations_in([] { kept = std::make_unique<line[]>(2).get(); }), 1u);
    EXPECT_EQ(allocations_in([] { kept = std::string(100, 'x').data(); }), 1u) << "inside the C++ library";
}

#if !defined(_WIN32)
void release(void* block) {
    kept = block;
    std::free(block);
}

TEST(Expect, EveryRelativeOfMallocCountsOnce) {
    EXPECT_EQ(allocations_in([] { release(std::malloc(10)); }), 1u);
    EXPECT_EQ(allocations_in([] { release(std::calloc(2, 10)); }), 1u);
    EXPECT_EQ(allocations_in([] { release(std::realloc(nullptr, 10)); }), 1u);
    EXPECT_EQ(allocations_in([] { release(reallocarray(nullptr, 2, 10)); }), 1u);
    EXPECT_EQ(allocations_in([] { release(memalign(64, 10)); }), kAligned);
    EXPECT_EQ(allocations_in([] { release(std::aligned_alloc(64, 64)); }), kAligned);
    EXPECT_EQ(allocations_in([] {
                  void* block = nullptr;
                  if (posix_memalign(&block, 64, 10) == 0) release(block);
              }),
              kAligned);
    EXPECT_EQ(allocations_in([] { release(valloc(10)); }), kAligned);
    EXPECT_EQ(allocations_in([] { release(pvalloc(10)); }), kAligned);
    EXPECT_EQ(allocations_in([] { release(strdup("in the C library")); }), 1u);
}

TEST(Expect, FailedAllocationsCount) {
    EXPECT_EQ(allocations_in([] {
                  volatile std::size_t size = ~std::size_t{0} / 4;
                  kept = std::malloc(size);
              }),
              kFailed);
    EXPECT_EQ(kept, nullptr);
}

TEST(Expect, MovingABlockKeepsItsContent) {
    char* block = static_cast<char*>(std::malloc(8));
    ASSERT_TRUE(block);
    std::strcpy(block, "content");
    block = static_cast<char*>(std::realloc(block, 100'000));
    ASSERT_TRUE(block);
    EXPECT_STREQ(block, "content");
    std::free(block);
}
#endif

} // namespace
