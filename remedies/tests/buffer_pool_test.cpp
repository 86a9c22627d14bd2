#include "limited_memory_test.hpp"

#include <memtoll/buffer_pool.hpp>
#include <memtoll/expect.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sys/resource.h>
#endif

namespace {

using memtoll::buffer_pool_options;
using memtoll::exhausted;
using memtoll::purge;
using memtoll::test::limited_memory;
using namespace std::chrono_literals;

constexpr std::size_t kFrame = 100'000; // not whole pages

template <class Pool> class BufferPool : public memtoll::test::LimitedMemoryTest {};
using Pools = testing::Types<memtoll::basic_buffer_pool<true, limited_memory>, memtoll::basic_buffer_pool<false, limited_memory>>;
TYPED_TEST_SUITE(BufferPool, Pools);

TYPED_TEST(BufferPool, LeasesDistinctBuffersOfWholePages) {
    for (const std::size_t capacity : {1u, 3u, 63u, 64u, 65u, 200u}) {
        TypeParam pool(kFrame, capacity);
        std::vector<typename TypeParam::buffer> leases;
        std::set<std::byte*> places;
        for (std::size_t i = 0; i < capacity; ++i) {
            leases.push_back(pool.lease());
            ASSERT_TRUE(leases.back());
            ASSERT_EQ(reinterpret_cast<std::uintptr_t>(leases.back().data()) % limited_memory::page(), 0u);
            ASSERT_EQ(leases.back().size(), kFrame);
            std::memset(leases.back().data(), static_cast<int>(i), kFrame);
            places.insert(leases.back().data());
        }
        EXPECT_EQ(places.size(), capacity);
        EXPECT_EQ(pool.leased(), capacity);
        for (std::size_t i = 0; i < capacity; ++i) EXPECT_EQ(leases[i].data()[kFrame - 1], static_cast<std::byte>(i));
        EXPECT_FALSE(pool.lease());
        EXPECT_EQ(pool.times_exhausted(), 1u);
        leases.clear();
        EXPECT_EQ(pool.leased(), 0u);
    }
}

TYPED_TEST(BufferPool, ABufferReturnedIsLeasedNext) {
    TypeParam pool(kFrame, 4);
    auto first = pool.lease();
    const auto second = pool.lease();
    std::byte* const place = first.data();
    place[0] = std::byte{42};
    first.reset();
    EXPECT_FALSE(first);
    EXPECT_EQ(first.size(), 0u);
    first.reset();
    const auto again = pool.lease();
    EXPECT_EQ(again.data(), place);
    EXPECT_EQ(again.data()[0], std::byte{42});
}

TYPED_TEST(BufferPool, LeasesTheFirstThatIsFree) {
    constexpr std::size_t capacity = 10;
    TypeParam pool(kFrame, capacity);
    std::vector<typename TypeParam::buffer> leases;
    for (std::size_t i = 0; i < capacity; ++i) leases.push_back(pool.lease());
    for (std::size_t step = 1; step < capacity; ++step) { // returned in different orders
        std::set<std::byte*> returned;
        for (std::size_t i = 0; i < capacity; i += 2) {
            auto& lease = leases[(i * step + 7) % capacity];
            if (lease) returned.insert(lease.data());
            lease.reset();
        }
        for (auto& lease : leases)
            if (!lease) {
                lease = pool.lease();
                ASSERT_TRUE(lease);
                ASSERT_EQ(lease.data(), *returned.begin());
                returned.erase(returned.begin());
            }
        EXPECT_FALSE(pool.try_lease());
    }
}

TYPED_TEST(BufferPool, HandlesMove) {
    TypeParam pool(kFrame, 4);
    auto one = pool.lease();
    auto two = pool.lease();
    std::byte* const place = one.data();
    two = std::move(one); // the lease that it had ends
    EXPECT_EQ(two.data(), place);
    EXPECT_FALSE(one);
    EXPECT_EQ(pool.leased(), 1u);
    two = typename TypeParam::buffer();
    EXPECT_EQ(pool.leased(), 0u);
}

TYPED_TEST(BufferPool, GrowsBeyondItsCapacityAndGivesThatBack) {
    TypeParam pool(kFrame, 2, {exhausted::grow});
    const std::size_t before = limited_memory::bytes();
    std::vector<typename TypeParam::buffer> leases;
    for (int i = 0; i < 5; ++i) {
        leases.push_back(pool.lease());
        std::memset(leases.back().data(), i, kFrame);
    }
    EXPECT_EQ(pool.leased(), 5u);
    EXPECT_GE(limited_memory::bytes(), before + 3 * kFrame);
    EXPECT_FALSE(pool.try_lease()) << "which never grows";
    leases.clear();
    EXPECT_EQ(pool.leased(), 0u);
    EXPECT_EQ(limited_memory::bytes(), before);
}

TYPED_TEST(BufferPool, OutOfMemoryLeavesThePoolAsItWas) {
    limited_memory::calls_left = 0;
    EXPECT_THROW(TypeParam(kFrame, 2), std::bad_alloc);
    limited_memory::calls_left = 1;
    TypeParam pool(kFrame, 1, {exhausted::grow, purge::now});
    {
        const auto lease = pool.lease();
        EXPECT_THROW(pool.lease(), std::bad_alloc);
        EXPECT_EQ(pool.leased(), 1u);
    }
    for (int i = 0; i < 2; ++i) { // its memory has gone back, and there is none now
        EXPECT_THROW(pool.lease(), std::bad_alloc);
        EXPECT_EQ(pool.leased(), 0u);
    }
    limited_memory::calls_left = limited_memory::unlimited;
    const auto lease = pool.lease();
    std::memset(lease.data(), 1, kFrame);
}

TYPED_TEST(BufferPool, SizesThatCannotBeAreRefused) {
    EXPECT_THROW(TypeParam(0, 1), std::invalid_argument);
    EXPECT_THROW(TypeParam(1, 0), std::invalid_argument);
    EXPECT_THROW(TypeParam(~std::size_t{0}, 1), std::bad_alloc);
    EXPECT_THROW(TypeParam(std::size_t{1} << 62, 4), std::bad_alloc);
    memtoll::expect_at_most scope(10); // the exceptions
    EXPECT_THROW(TypeParam(std::size_t{1} << 30, std::size_t{1} << 40), std::bad_alloc);
    const auto result = scope.end();
    EXPECT_TRUE(result) << result.what();
    EXPECT_LT(result.bytes, 1000u) << "nothing for the buffers that cannot be";
}

TYPED_TEST(BufferPool, IdleMemoryGoesBackAfterItsTimeAndNotBefore) {
    TypeParam pool(kFrame, 3, {exhausted::fail, purge::now, 24h});
    {
        auto one = pool.lease(), two = pool.lease(), three = pool.lease();
        for (const auto* lease : {&one, &two, &three}) std::memset(lease->data(), 7, kFrame);
        two.reset();
        three.reset();
        const auto now = TypeParam::clock::now();
        pool.trim(now + 23h);
        EXPECT_EQ(limited_memory::decommits, 0u);
        pool.trim(now + 25h);
        EXPECT_EQ(limited_memory::decommits, 2u) << "the one that is leased stays";
        pool.trim(now + 25h);
        EXPECT_EQ(limited_memory::decommits, 2u) << "once";
        two = pool.lease();
        EXPECT_EQ(two.data()[0], std::byte{0}) << "fresh memory";
        std::memset(two.data(), 7, kFrame);
        EXPECT_EQ(one.data()[0], std::byte{7});
    }
    EXPECT_EQ(pool.leased(), 0u);
}

TYPED_TEST(BufferPool, IdleMemoryMayGoBackAtOnceOrLazilyOrNever) {
    for (const auto& [idle, decommits, resets] : {std::tuple(purge::keep, 0u, 0u), {purge::lazy, 0u, 3u}, {purge::now, 3u, 3u}}) {
        TypeParam pool(kFrame, 2, {exhausted::fail, idle});
        for (int i = 0; i < 3; ++i) std::memset(pool.lease().data(), i, kFrame);
        pool.trim(TypeParam::clock::now() + 1h);
        EXPECT_EQ(limited_memory::decommits, decommits);
        EXPECT_EQ(limited_memory::resets, resets);
    }
}

TYPED_TEST(BufferPool, MemoryMayBeIdleForAnyTime) {
    for (const auto idle_after : {std::chrono::nanoseconds::min(), -1ns, std::chrono::nanoseconds::max()}) {
        TypeParam pool(kFrame, 2, {exhausted::fail, purge::lazy, idle_after});
        limited_memory::resets = 0;
        for (int i = 0; i < 3; ++i) {
            auto one = pool.lease(), two = pool.lease();
        }
        pool.trim();
        EXPECT_EQ(limited_memory::resets > 0, idle_after < 0ns);
    }
}

TYPED_TEST(BufferPool, LeasingAllocatesNothing) {
    TypeParam pool(kFrame, 70);
    memtoll::expect_no_allocations scope;
    for (int i = 0; i < 100; ++i) {
        auto one = pool.lease(), two = pool.lease();
        one.reset();
    }
    const auto result = scope.end();
    EXPECT_TRUE(result) << result.what();
}

#if defined(__linux__)
long faults() {
    rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt;
}

TYPED_TEST(BufferPool, PagesFaultOnce) {
    TypeParam pool(1'382'400, 4);
    const auto frame = [&] { std::memset(pool.lease().data(), 1, pool.buffer_bytes()); };
    frame();
    const long before = faults();
    for (int i = 0; i < 100; ++i) frame();
    EXPECT_LT(faults() - before, 10) << "of 33,800 pages";
}
#endif

TEST(LocalBufferPool, CannotWait) {
    EXPECT_THROW(memtoll::local_buffer_pool(kFrame, 1, {exhausted::wait}), std::invalid_argument);
}

// Every thread writes its mark to all of its buffers, and finds it there until it returns them.
void use_from_threads(memtoll::buffer_pool& pool, int threads, int rounds, std::size_t at_once) {
    std::atomic<int> foreign{0};
    std::vector<std::thread> workers;
    for (int mark = 1; mark <= threads; ++mark)
        workers.emplace_back([&, mark] {
            std::vector<memtoll::buffer_pool::buffer> leases(at_once);
            for (int round = 0; round < rounds; ++round) {
                for (auto& lease : leases) {
                    lease = pool.lease();
                    if (lease) std::memset(lease.data(), mark, lease.size());
                }
                for (auto& lease : leases) {
                    if (lease && (lease.data()[0] != std::byte(mark) || lease.data()[lease.size() - 1] != std::byte(mark))) ++foreign;
                    lease.reset();
                }
            }
        });
    for (std::thread& worker : workers) worker.join();
    EXPECT_EQ(foreign, 0);
    EXPECT_EQ(pool.leased(), 0u);
}

TEST(BufferPoolThreads, NoBufferHasTwoOwners) {
    for (const exhausted policy : {exhausted::fail, exhausted::grow}) {
        memtoll::buffer_pool pool(64, 70, {policy});
        use_from_threads(pool, 4, 2000, 20);
    }
}

TEST(BufferPoolThreads, MemoryGoesBackWhileOthersLease) {
    for (const purge idle : {purge::lazy, purge::now}) {
        memtoll::buffer_pool pool(5000, 8, {exhausted::grow, idle, 1us});
        use_from_threads(pool, 4, 300, 3);
    }
}

TEST(BufferPoolThreads, WhoeverWaitsGetsWhatIsReturned) {
    memtoll::buffer_pool pool(64, 2, {exhausted::wait});
    use_from_threads(pool, 4, 5000, 1);
    EXPECT_EQ(pool.leased(), 0u);
}

TEST(BufferPoolThreads, ALeaseWaitsForTheNextReturn) {
    memtoll::buffer_pool pool(64, 1, {exhausted::wait});
    auto only = pool.lease();
    std::byte* const place = only.data();
    std::thread other([&] { EXPECT_EQ(pool.lease().data(), place); });
    while (pool.times_exhausted() == 0) std::this_thread::yield(); // it waits, or is about to
    only.reset();
    other.join();
}

TEST(BufferPoolThreads, ALeaseEndsOnAnotherThread) {
    memtoll::buffer_pool pool(kFrame, 1);
    auto lease = pool.lease();
    std::memset(lease.data(), 5, kFrame);
    std::thread([moved = std::move(lease)]() mutable {
        EXPECT_EQ(moved.data()[kFrame - 1], std::byte{5});
        moved.reset();
    }).join();
    EXPECT_EQ(pool.lease().data()[0], std::byte{5});
}

// Its first commit after `refuse` was set fails, and only when somebody waits, or is about to, for what is committed.
struct refusing_memory : memtoll::detail::system_memory {
    static inline std::atomic<bool> refuse{false}, refusing{false}, somebody_waits{false};
    static bool commit(void* at, std::size_t bytes, memtoll::pages kind) noexcept {
        if (!refuse.exchange(false)) return system_memory::commit(at, bytes, kind);
        refusing = true;
        while (!somebody_waits) std::this_thread::yield();
        for (int i = 0; i < 100; ++i) std::this_thread::yield();
        return false;
    }
};

TEST(BufferPoolThreads, WhoeverWaitsGetsWhatOthersHaveNoMemoryFor) {
    using pool_type = memtoll::basic_buffer_pool<true, refusing_memory>;
    for (int round = 0; round < 20; ++round) {
        pool_type pool(64, 1, {exhausted::wait, purge::now});
        pool.lease().reset(); // its memory has gone back
        refusing_memory::refusing = refusing_memory::somebody_waits = false;
        refusing_memory::refuse = true;
        std::thread refused([&] { EXPECT_THROW(pool.lease(), std::bad_alloc); });
        while (!refusing_memory::refusing) std::this_thread::yield();
        std::thread waiting([&] { EXPECT_TRUE(pool.lease()); });
        while (pool.times_exhausted() == 0) std::this_thread::yield();
        refusing_memory::somebody_waits = true;
        refused.join();
        waiting.join(); // or never
    }
}

TEST(BufferPoolThreads, APoolMayGoWhenNothingIsLeased) {
    for (const exhausted policy : {exhausted::fail, exhausted::grow})
        for (const std::chrono::nanoseconds idle_after : {0ns, 1ns, std::chrono::nanoseconds(24h)})
            for (const purge idle : {purge::keep, purge::lazy}) {
                auto pool = std::make_unique<memtoll::buffer_pool>(64, 1, buffer_pool_options{policy, idle, idle_after});
                auto one = pool->lease(), beyond = pool->lease();
                std::thread other([&] {
                    beyond.reset();
                    one.reset();
                });
                while (pool->leased() != 0) std::this_thread::yield();
                pool.reset();
                other.join();
            }
}

#if !defined(NDEBUG)
TEST(BufferPoolDeathTest, ALeaseThatOutlivesItsPool) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(
        {
            memtoll::buffer_pool::buffer lease;
            memtoll::buffer_pool pool(kFrame, 1);
            lease = pool.lease();
        },
        "a lease outlives its pool");
}
#endif

} // namespace
