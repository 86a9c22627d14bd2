#include <memtoll/reserved_vector.hpp>

#include "limited_memory_test.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <numeric>
#include <string>
#include <type_traits>

namespace {

using namespace memtoll;
using test::limited_memory;

struct ReservedVector : test::LimitedMemoryTest {
    template <class T> using limited_vector = reserved_vector<T, limited_memory>;
};

TEST_F(ReservedVector, ElementsNeverMove) {
    limited_vector<std::string> lines(200'000);
    const std::string& first = lines.emplace_back("the first line, too long for the string itself");
    for (std::size_t i = 1; i < 200'000; ++i)
        lines.push_back(std::to_string(i));
    EXPECT_EQ(&first, lines.data());
    EXPECT_EQ(first, "the first line, too long for the string itself");
    EXPECT_EQ(lines[123'456], "123456");
    EXPECT_EQ(lines.back(), "199999");
    EXPECT_EQ(lines.size(), 200'000u);
}

TEST_F(ReservedVector, AddsAnElementOfItself) {
    limited_vector<std::string> lines(100'000);
    lines.push_back("a text that is too long for the string itself");
    for (std::size_t i = 1; i < 100'000; ++i)
        lines.push_back(lines.front());
    EXPECT_EQ(lines.back(), lines.front());
}

TEST_F(ReservedVector, ElementsNeedNotMove) {
    limited_vector<std::atomic<int>> counters(10);
    counters.emplace_back(1);
    counters.resize(3);
    counters.front().fetch_add(1);
    EXPECT_EQ(counters[0], 2);
    EXPECT_EQ(counters[2], 0);
}

TEST_F(ReservedVector, HoldsAsManyAsWereReserved) {
    limited_vector<int> numbers(3);
    EXPECT_EQ(numbers.max_size(), 3u);
    for (const int number : {1, 2, 3})
        numbers.push_back(number);
    EXPECT_THROW(numbers.push_back(4), std::length_error);
    EXPECT_THROW(numbers.resize(4), std::length_error);
    EXPECT_THROW(numbers.reserve(4), std::length_error);
    EXPECT_EQ(std::accumulate(numbers.begin(), numbers.end(), 0), 6);
    EXPECT_THROW(limited_vector<int>{SIZE_MAX}, std::length_error);
    limited_vector<int> none;
    EXPECT_THROW(none.push_back(1), std::length_error);
    EXPECT_TRUE(none.empty());
}

TEST_F(ReservedVector, CommitsInStepsOfAtMostAMebibyte) {
    limited_vector<char> bytes(64 << 20);
    EXPECT_EQ(bytes.capacity(), 0u);
    std::size_t steps = 0;
    for (std::size_t last = 0; bytes.size() < bytes.max_size(); bytes.push_back('x'))
        if (bytes.capacity() != last) {
            ASSERT_LE(bytes.capacity() - last, std::size_t{1} << 20);
            last = bytes.capacity();
            ++steps;
        }
    EXPECT_LE(steps, 64u + 5u);
}

TEST_F(ReservedVector, ReserveCommitsAhead) {
    limited_vector<int> numbers(1'000'000);
    numbers.reserve(500'000);
    EXPECT_GE(numbers.capacity(), 500'000u);
    limited_memory::calls_left = 0;
    for (int i = 0; i < 500'000; ++i)
        numbers.push_back(i);
    EXPECT_EQ(numbers[499'999], 499'999);
}

TEST_F(ReservedVector, StateIsUnchangedWhenMemoryRunsOut) {
    limited_vector<std::string> lines(100'000);
    limited_memory::calls_left = 2;
    std::size_t added = 0;
    try {
        for (;; ++added)
            lines.push_back(std::to_string(added));
    } catch (const std::bad_alloc&) {
    }
    ASSERT_EQ(lines.size(), added);
    ASSERT_EQ(lines.capacity(), added);
    EXPECT_THROW(lines.resize(added + 1), std::bad_alloc);
    for (std::size_t i = 0; i < added; ++i)
        ASSERT_EQ(lines[i], std::to_string(i));
    limited_memory::calls_left = limited_memory::unlimited;
    lines.push_back("there is memory again");
    EXPECT_EQ(lines.size(), added + 1);
}

struct sometimes_throws {
    explicit sometimes_throws(bool throws) {
        if (throws)
            throw std::runtime_error("as asked");
    }
};

TEST_F(ReservedVector, StateIsUnchangedWhenAnElementThrows) {
    limited_vector<sometimes_throws> elements(10);
    elements.emplace_back(false);
    EXPECT_THROW(elements.emplace_back(true), std::runtime_error);
    EXPECT_EQ(elements.size(), 1u);
}

TEST_F(ReservedVector, DestroysWhatItHolds) {
    const auto alive = std::make_shared<int>();
    {
        limited_vector<std::shared_ptr<int>> owners(100);
        for (int i = 0; i < 100; ++i)
            owners.push_back(alive);
        EXPECT_EQ(alive.use_count(), 101);
        owners.pop_back();
        EXPECT_EQ(alive.use_count(), 100);
        owners.resize(50);
        EXPECT_EQ(alive.use_count(), 51);
        owners.clear();
        EXPECT_EQ(alive.use_count(), 1);
        owners.push_back(alive);
    }
    EXPECT_EQ(alive.use_count(), 1);
}

TEST_F(ReservedVector, ClearByName) {
    limited_vector<int> numbers(1'000'000);
    numbers.resize(1'000'000);
    numbers.clear();
    EXPECT_EQ(numbers.capacity(), 1'000'000u);
    numbers.resize(1'000'000);
    numbers.clear(purge::lazy);
    EXPECT_EQ(numbers.capacity(), 1'000'000u);
    EXPECT_EQ(limited_memory::resets, 1u);
    numbers.resize(1'000'000);
    EXPECT_EQ(numbers[999'999], 0) << "value-initialised, whatever the system left there";
    numbers.clear(purge::now);
    EXPECT_EQ(numbers.capacity(), 0u);
    numbers.push_back(1);
    EXPECT_EQ(numbers[0], 1);
}

TEST_F(ReservedVector, ShrinkToFitKeepsTheElements) {
    // Larger than a page, and not a multiple of one: the last element lies across what can be given back.
    struct row {
        int cells[1'500];
    };
    limited_vector<row> rows(1'000);
    rows.resize(1'000);
    for (row& each : rows)
        std::fill_n(each.cells, 1'500, 7);
    rows.resize(333);
    rows.shrink_to_fit();
    EXPECT_GE(rows.capacity(), 333u);
    EXPECT_LT(rows.capacity(), 335u);
    for (const row& each : rows)
        ASSERT_TRUE(std::all_of(each.cells, each.cells + 1'500, [](int cell) { return cell == 7; }));
    rows.resize(1'000);
    EXPECT_EQ(rows.back().cells[1'499], 0);
}

TEST_F(ReservedVector, MovesWithoutMovingElements) {
    static_assert(!std::is_copy_constructible_v<reserved_vector<int>>);
    static_assert(std::is_nothrow_move_constructible_v<reserved_vector<int>>);
    limited_vector<std::string> source(100);
    const std::string& text = source.emplace_back("text");
    limited_vector<std::string> target(std::move(source));
    EXPECT_EQ(&target.front(), &text);
    EXPECT_TRUE(source.empty());
    EXPECT_EQ(source.max_size(), 0u);
    source = std::move(target);
    EXPECT_EQ(&source.back(), &text);
    source.push_back("another");
    EXPECT_EQ(source.size(), 2u);
}

TEST_F(ReservedVector, HugePages) {
    limited_vector<int> numbers(3'000'000, pages::huge);
    for (int i = 0; i < 3'000'000; ++i)
        numbers.push_back(i);
    EXPECT_EQ(numbers[2'999'999], 2'999'999);
}

} // namespace
