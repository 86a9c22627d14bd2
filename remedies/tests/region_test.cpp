#include <memtoll/region.hpp>

#include "limited_memory_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace {

using namespace memtoll;
using test::limited_memory;

const std::size_t page = detail::system_memory::page();
constexpr std::size_t mebibyte = std::size_t{1} << 20;

bool all(const std::byte* first, std::size_t bytes, unsigned value) {
    return std::all_of(first, first + bytes, [&](std::byte each) { return each == std::byte(value); });
}

struct Region : test::LimitedMemoryTest {
    using limited_region = basic_region<limited_memory>;
};

TEST_F(Region, HoldsMemoryWhereItWasCommitted) {
    limited_region range(64 * mebibyte);
    EXPECT_EQ(range.size(), 64 * mebibyte);
    range.commit(10 * mebibyte, mebibyte);
    EXPECT_TRUE(all(range.data() + 10 * mebibyte, mebibyte, 0));
    std::memset(range.data() + 10 * mebibyte, 1, mebibyte);
    range.commit(10 * mebibyte + 1, 5);
    EXPECT_TRUE(all(range.data() + 10 * mebibyte, mebibyte, 1)) << "committing again keeps what is there";
}

TEST_F(Region, SizesAreRoundedUp) {
    limited_region range(1);
    EXPECT_GE(range.size(), page);
    EXPECT_EQ(range.size() % page, 0u);
    range.commit(0, 1);
    std::memset(range.data(), 1, page);
}

TEST_F(Region, NothingIsReservedForNothing) {
    limited_region empty(0);
    EXPECT_EQ(empty.data(), nullptr);
    empty.commit(0, 0);
    EXPECT_THROW(empty.commit(0, 1), std::out_of_range);
    empty.give_back(0, 100, purge::now);
    EXPECT_TRUE(limited_memory::ranges.empty());
}

TEST_F(Region, CommitBeyondTheRangeIsRefused) {
    limited_region range(mebibyte);
    EXPECT_THROW(range.commit(mebibyte, 1), std::out_of_range);
    EXPECT_THROW(range.commit(1, mebibyte), std::out_of_range);
    EXPECT_THROW(range.commit(mebibyte + 1, 0), std::out_of_range);
    EXPECT_THROW(range.commit(1, SIZE_MAX), std::out_of_range);
    range.commit(0, mebibyte);
}

TEST_F(Region, DecommittedMemoryComesBackZero) {
    limited_region range(mebibyte);
    range.commit(0, mebibyte);
    std::memset(range.data(), 1, mebibyte);
    range.decommit(0, mebibyte);
    range.commit(0, mebibyte);
    EXPECT_TRUE(all(range.data(), mebibyte, 0));
}

TEST_F(Region, ResetMemoryStaysUsable) {
    limited_region range(mebibyte);
    range.commit(0, mebibyte);
    std::memset(range.data(), 1, mebibyte);
    range.reset(0, mebibyte);
    for (std::size_t i = 0; i < mebibyte; ++i)
        ASSERT_TRUE(range.data()[i] == std::byte{0} || range.data()[i] == std::byte{1});
    std::memset(range.data(), 2, mebibyte);
    EXPECT_TRUE(all(range.data(), mebibyte, 2)) << "what is written after reset stays";
}

TEST_F(Region, NeighboursStay) {
    limited_region range(mebibyte);
    range.commit(0, mebibyte);
    std::memset(range.data(), 1, mebibyte);
    range.decommit(1, 3 * page - 2);
    EXPECT_TRUE(all(range.data(), page, 1));
    EXPECT_TRUE(all(range.data() + 2 * page, mebibyte - 2 * page, 1));
    range.commit(page, page);
    EXPECT_TRUE(all(range.data() + page, page, 0));
    range.decommit(page + 1, page);
    EXPECT_EQ(limited_memory::decommits, 1u) << "no whole page, no call";
}

TEST_F(Region, WhatLiesOutsideStays) {
    limited_region range(mebibyte);
    limited_region other(mebibyte);
    range.give_back(0, SIZE_MAX, purge::now);
    range.give_back(SIZE_MAX, SIZE_MAX, purge::now);
    range.give_back(range.size(), page, purge::lazy);
    EXPECT_EQ(limited_memory::decommits, 1u);
    EXPECT_EQ(limited_memory::resets, 0u);
    other.commit(0, mebibyte);
}

TEST_F(Region, PoliciesByName) {
    limited_region range(mebibyte);
    range.commit(0, mebibyte);
    range.give_back(0, mebibyte, purge::keep);
    EXPECT_EQ(limited_memory::resets + limited_memory::decommits, 0u);
    range.give_back(0, mebibyte, purge::lazy);
    EXPECT_EQ(limited_memory::resets, 1u);
    range.give_back(0, mebibyte, purge::now);
    EXPECT_EQ(limited_memory::decommits, 1u);
}

TEST_F(Region, HugePagesAreAligned) {
    limited_region range(3 * mebibyte, pages::huge);
    EXPECT_EQ(range.granule(), 2 * mebibyte);
    EXPECT_EQ(range.size(), 4 * mebibyte);
#if defined(__linux__)
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(range.data()) % detail::huge_page, 0u);
#endif
    range.commit(mebibyte, 1);
    std::memset(range.data(), 1, 2 * mebibyte);
    range.decommit(0, 3 * mebibyte);
    range.commit(0, 1);
    EXPECT_TRUE(all(range.data(), 2 * mebibyte, 0));
}

TEST_F(Region, RefusedMemoryIsAnException) {
    limited_memory::calls_left = 0;
    EXPECT_THROW(limited_region{mebibyte}, std::bad_alloc);
    EXPECT_THROW(limited_region{SIZE_MAX}, std::bad_alloc);
    limited_memory::calls_left = 1;
    limited_region range(mebibyte);
    EXPECT_THROW(range.commit(0, mebibyte), std::bad_alloc);
    limited_memory::calls_left = limited_memory::unlimited;
    range.commit(0, mebibyte);
    EXPECT_THROW(limited_region{SIZE_MAX / 2}, std::bad_alloc) << "more than there are addresses";
    EXPECT_THROW((limited_region{SIZE_MAX / 2, pages::huge}), std::bad_alloc);
}

TEST_F(Region, MovesWithoutMovingMemory) {
    static_assert(!std::is_copy_constructible_v<region> && std::is_nothrow_move_assignable_v<region>);
    limited_region source(mebibyte);
    source.commit(0, page);
    std::byte* const address = source.data();
    limited_region target(std::move(source));
    EXPECT_EQ(target.data(), address);
    EXPECT_EQ(source.data(), nullptr);
    EXPECT_EQ(source.size(), 0u);
    limited_region third(page);
    third = std::move(target);
    EXPECT_EQ(third.data(), address);
    EXPECT_EQ(limited_memory::ranges.size(), 1u);
    third.release();
    EXPECT_EQ(third.size(), 0u);
}

#if !defined(__SANITIZE_THREAD__)
using RegionDeathTest = Region;

TEST_F(RegionDeathTest, WhatIsNotCommittedCannotBeUsed) {
    testing::GTEST_FLAG(death_test_style) = "threadsafe";
    region range(mebibyte);
    volatile std::byte* const address = range.data();
    EXPECT_DEATH(address[0] = std::byte{1}, "");
    range.commit(0, mebibyte);
    range.decommit(0, mebibyte);
    EXPECT_DEATH(address[0] = std::byte{1}, "");
    range.release();
    EXPECT_DEATH(address[0] = std::byte{1}, "");
}
#endif

} // namespace
