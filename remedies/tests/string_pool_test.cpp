#include <memtoll/string_pool.hpp>

#include "limited_memory_test.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <memory_resource>
#include <string>
#include <type_traits>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace {

using namespace memtoll;
using test::limited_memory;

template <class Char> std::basic_string<Char> text_of(std::size_t number) {
    std::basic_string<Char> text;
    for (const char digit : std::to_string(number))
        text += static_cast<Char>(digit);
    return text;
}

template <class Char> struct StringPoolOf : testing::Test {};
using Characters = testing::Types<char, char8_t, char16_t, wchar_t>;
TYPED_TEST_SUITE(StringPoolOf, Characters);

TYPED_TEST(StringPoolOf, KeepsEveryStringWithAZeroBehindIt) {
    basic_string_pool<TypeParam> pool;
    std::vector<std::basic_string_view<TypeParam>> views;
    for (std::size_t i = 0; i < 100'000; ++i)
        views.push_back(pool.add(text_of<TypeParam>(i)));
    for (std::size_t i = 0; i < views.size(); ++i) {
        ASSERT_TRUE(views[i] == text_of<TypeParam>(i)) << i;
        ASSERT_TRUE(views[i].data()[views[i].size()] == TypeParam()) << i;
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(views[i].data()) % alignof(TypeParam), 0u);
    }
    EXPECT_EQ(pool.statistics().strings, views.size());
}

TYPED_TEST(StringPoolOf, InternsEachTextOnce) {
    basic_string_pool<TypeParam> pool;
    std::vector<std::basic_string_view<TypeParam>> views;
    for (std::size_t i = 0; i < 10'000; ++i)
        views.push_back(pool.intern(text_of<TypeParam>(i)));
    for (std::size_t i = 0; i < views.size(); ++i) {
        const auto again = pool.intern(text_of<TypeParam>(i));
        ASSERT_EQ(again.data(), views[i].data());
        ASSERT_TRUE(again == text_of<TypeParam>(i)) << i;
    }
    EXPECT_EQ(pool.statistics().strings, views.size());
    EXPECT_NE(pool.add(text_of<TypeParam>(7)).data(), views[7].data()) << "add() always copies";
}

TYPED_TEST(StringPoolOf, LengthThatOverflowsIsRefused) {
    basic_string_pool<TypeParam> pool;
    pool.add(text_of<TypeParam>(1));
    const auto before = pool.statistics();
    const TypeParam nothing{};
    for (const std::size_t length : {SIZE_MAX, SIZE_MAX / sizeof(TypeParam), SIZE_MAX / sizeof(TypeParam) - 1,
                                     static_cast<std::size_t>(PTRDIFF_MAX) / sizeof(TypeParam)}) {
        EXPECT_THROW(pool.add(std::basic_string_view<TypeParam>(&nothing, length)), std::length_error) << length;
        EXPECT_THROW(pool.add(length, [](TypeParam*) { return 0u; }), std::length_error) << length;
    }
    EXPECT_EQ(pool.statistics().asked, before.asked);
    EXPECT_EQ(pool.statistics().strings, before.strings);
    EXPECT_EQ(pool.statistics().taken, before.taken);
}

struct StringPool : test::LimitedMemoryTest {
    using limited_pool = basic_string_pool<char, limited_memory>;
};

// The dictionary of the story: its destructor freed each block's predecessor with the block's own size.
TEST_F(StringPool, BlocksOfDifferentSizesGoBackWithTheirOwnSize) {
    limited_pool pool;
    for (const std::size_t length : {10u, 100'000u, 10u, 5'000'000u, 300'000u, 3'000'000u, 10u})
        pool.add(std::string(length, 'x'));
    EXPECT_GE(limited_memory::ranges.size(), 5u);
    EXPECT_EQ(limited_memory::ranges.size(), pool.statistics().blocks);
    EXPECT_LE(pool.statistics().taken, limited_memory::bytes());
    // limited_memory reports a wrong size, and at the end what is left.
}

// And one string pointer was deleted that was never set.
TEST_F(StringPool, NothingGoesBackThatWasNeverTaken) {
    limited_pool never_used;
    limited_pool failed;
    limited_memory::calls_left = 0;
    EXPECT_THROW(failed.add("text"), std::bad_alloc);
    EXPECT_THROW(failed.intern("text"), std::bad_alloc);
    limited_memory::calls_left = limited_memory::unlimited;
    limited_pool source;
    source.add("text");
    const limited_pool moved(std::move(source));
    EXPECT_EQ(limited_memory::ranges.size(), 1u);
}

TEST_F(StringPool, NoMemoryUntilTheFirstString) {
    const limited_pool pool;
    EXPECT_TRUE(limited_memory::ranges.empty());
    EXPECT_EQ(pool.statistics().taken, 0u);
    EXPECT_EQ(pool.statistics().overhead(), 0.0);
}

TEST_F(StringPool, EmptyStringsAreStringsToo) {
    limited_pool pool;
    const std::string_view first = pool.add({});
    const std::string_view second = pool.intern({});
    EXPECT_TRUE(first.empty());
    EXPECT_EQ(*first.data(), 0);
    EXPECT_EQ(*second.data(), 0);
    EXPECT_EQ(pool.intern("").data(), second.data());
    EXPECT_EQ(pool.statistics().asked, 2u);
}

TEST_F(StringPool, StringsMayHoldZeros) {
    limited_pool pool;
    const std::string_view text("a\0b", 3);
    EXPECT_EQ(pool.add(text), text);
    EXPECT_EQ(pool.intern(text), text);
    EXPECT_NE(pool.intern(std::string_view("a\0c", 3)).data(), pool.intern(text).data());
}

TEST_F(StringPool, LargeStringLeavesTheRoomOfTheCurrentBlock) {
    limited_pool pool;
    const char* const before = pool.add("before").data();
    pool.add(std::string(1'000'000, 'x'));
    EXPECT_EQ(pool.add("after").data(), before + sizeof "before");
    EXPECT_EQ(pool.statistics().blocks, 2u);
}

TEST_F(StringPool, StateIsUnchangedWhenMemoryRunsOut) {
    limited_pool pool;
    std::vector<std::string_view> views;
    const std::string text(1'000, 'x');
    limited_memory::calls_left = 3;
    for (bool full = false; !full;) {
        const auto before = pool.statistics();
        try {
            views.push_back(pool.add(text));
        } catch (const std::bad_alloc&) {
            full = true;
            const auto after = pool.statistics();
            EXPECT_EQ(after.strings, before.strings);
            EXPECT_EQ(after.asked, before.asked);
            EXPECT_EQ(after.taken, before.taken);
            EXPECT_EQ(after.blocks, before.blocks);
        }
    }
    EXPECT_EQ(pool.statistics().blocks, 3u);
    for (const std::string_view view : views)
        ASSERT_EQ(view, text);
    EXPECT_THROW(pool.intern("interned"), std::bad_alloc) << "no memory for the table";
    EXPECT_EQ(pool.add("y"), "y") << "there is still room for a short one";
    limited_memory::calls_left = limited_memory::unlimited;
    EXPECT_EQ(pool.add(text), text);
    EXPECT_EQ(pool.intern("interned"), "interned");
}

TEST_F(StringPool, TableThatCannotGrowKeepsWhatItHas) {
    limited_pool pool;
    pool.reserve(1'000'000);
    std::vector<std::string_view> views;
    limited_memory::calls_left = 2; // the first table, and the next
    try {
        for (std::size_t i = 0;; ++i)
            views.push_back(pool.intern(std::to_string(i)));
    } catch (const std::bad_alloc&) {
    }
    ASSERT_GE(views.size(), 150u);
    EXPECT_EQ(pool.statistics().strings, views.size());
    limited_memory::calls_left = limited_memory::unlimited;
    for (std::size_t i = 0; i < views.size(); ++i)
        ASSERT_EQ(pool.intern(std::to_string(i)).data(), views[i].data());
}

TEST_F(StringPool, WritesInPlace) {
    limited_pool pool;
    const std::string_view text = pool.add(1'000, [](char* room) {
        std::fill_n(room, 1'000, '#');
        return 3u;
    });
    EXPECT_EQ(text, "###");
    EXPECT_EQ(*(text.data() + text.size()), 0);
    EXPECT_EQ(pool.statistics().asked, 4u);
    EXPECT_EQ(pool.add("next").data(), text.data() + 4) << "what was not written is used again";
}

TEST_F(StringPool, LargeStringThatIsShorterThanItsRoomCountsWhatIsWritten) {
    limited_pool pool;
    pool.add("before");
    EXPECT_EQ(pool.add(1'000'000, [](char*) { return 0u; }), "") << "in a block of its own";
    EXPECT_EQ(pool.statistics().asked, sizeof "before" + 1);
}

TEST_F(StringPool, WriterThatThrowsLeavesNoString) {
    limited_pool pool;
    const char* const before = pool.add("before").data();
    const auto write = [](char*) -> std::size_t { throw std::runtime_error("cannot convert"); };
    EXPECT_THROW(pool.add(100, write), std::runtime_error);
    EXPECT_EQ(pool.statistics().strings, 1u);
    EXPECT_EQ(pool.statistics().asked, sizeof "before");
    EXPECT_EQ(pool.add("after").data(), before + sizeof "before");
}

TEST_F(StringPool, ClearKeepsTheBlocks) {
    limited_pool pool;
    const auto load = [&] {
        for (std::size_t i = 0; i < 50'000; ++i)
            pool.intern("entry " + std::to_string(i));
    };
    load();
    const auto before = pool.statistics();
    pool.clear();
    EXPECT_EQ(pool.statistics().strings, 0u);
    EXPECT_EQ(pool.statistics().asked, 0u);
    EXPECT_EQ(pool.statistics().taken, before.taken);
    limited_memory::calls_left = 0;
    load();
    EXPECT_EQ(pool.statistics().strings, before.strings);
    EXPECT_EQ(pool.statistics().asked, before.asked);
    EXPECT_EQ(pool.statistics().taken, before.taken);
}

TEST_F(StringPool, IdleBlockIsUsedIfItIsLargeEnough) {
    limited_pool pool;
    pool.add("the first block");
    const std::size_t block = limited_memory::bytes();
    const std::size_t header = 5 * sizeof(void*);
    pool.clear();
    pool.add(std::string(block - header - 1, 'x'));
    EXPECT_EQ(pool.statistics().blocks, 1u);
    pool.clear();
    pool.add(std::string(block - header, 'x'));
    EXPECT_EQ(pool.statistics().blocks, 2u) << "one byte more does not fit";
}

TEST_F(StringPool, ShrinkToFitLeavesLessThanAPage) {
    limited_pool pool(pages::huge);
    for (std::size_t i = 0; i < 200'000; ++i)
        pool.add("a string of ordinary length " + std::to_string(i));
    EXPECT_GT(pool.statistics().overhead(), 0.01) << "the last huge page is not full";
    pool.shrink_to_fit();
    EXPECT_LT(pool.statistics().overhead(), 0.001);
    const auto before = pool.statistics();
    EXPECT_EQ(pool.add("more"), "more") << "the pool still grows";
    pool.clear();
    pool.shrink_to_fit();
    EXPECT_EQ(pool.statistics().taken, 0u) << before.taken << " before";
}

TEST_F(StringPool, LessThanOnePercentIsUnusedFromOneMebibyteOn) {
    limited_pool pool;
    for (std::size_t i = 0; pool.statistics().asked < 40'000'000; ++i) {
        pool.add(std::string(i % 60, 'x'));
        if (pool.statistics().asked > (std::size_t{1} << 20)) {
            ASSERT_LT(pool.statistics().overhead(), 0.01) << pool.statistics().asked << " bytes";
        }
    }
}

// What they leave at the ends of blocks goes back.
TEST_F(StringPool, LargeStringsLeaveLessThanOnePercentUnused) {
    limited_pool pool;
    for (std::size_t i = 0; pool.statistics().asked < 40'000'000; ++i) {
        pool.add(std::string(i % 60 + (i % 3 == 0 ? 50'000 : 0), 'x'));
        if (pool.statistics().asked > 4'000'000) {
            ASSERT_LT(pool.statistics().overhead(), 0.01) << pool.statistics().asked << " bytes";
        }
    }
}

TEST_F(StringPool, FillsAHugePageBeforeTheNextWhereItKnowsHowMuchWillCome) {
    limited_pool pool;
    pool.reserve(20'000'000);
    const std::size_t at_first = pool.statistics().taken;
    EXPECT_EQ(at_first, detail::huge_page);
    while (pool.statistics().asked < 20'000'000) {
        pool.add("123456789");
        ASSERT_LE(pool.statistics().taken, pool.statistics().asked + detail::huge_page + 100);
    }
    EXPECT_EQ(pool.statistics().blocks, 1u);
    EXPECT_LT(pool.statistics().overhead(), 0.01);
}

// Every length, at every distance from the end of what the system has given: nothing is written over, nothing is left.
TEST_F(StringPool, StringsOfAllLengthsStandBesideEachOther) {
    std::string source(100, '\0');
    for (std::size_t i = 0; i < source.size(); ++i)
        source[i] = static_cast<char>('!' + i % 90);
    limited_pool pool;
    std::vector<std::string_view> views;
    for (std::size_t i = 0; i < 100'000; ++i) {
        const std::string_view text = std::string_view(source).substr(i % 7, i * 31 % 90);
        const std::string exact(text); // a sanitizer sees what is read behind it
        views.push_back(pool.add(exact));
    }
    for (std::size_t i = 0; i < views.size(); ++i) {
        ASSERT_EQ(views[i], std::string_view(source).substr(i % 7, i * 31 % 90)) << i;
        ASSERT_EQ(*(views[i].data() + views[i].size()), 0) << i;
    }
}

TEST_F(StringPool, ReservesMoreThanIsNeeded) {
    limited_pool pool;
    pool.reserve(10'000'000);
    while (pool.statistics().asked < 9'000'000)
        pool.add("123456789");
    EXPECT_LT(pool.statistics().overhead(), 0.01) << "behind the last whole huge page";
}

TEST_F(StringPool, ReservesOnlyWhatItHasNot) {
    limited_pool pool;
    for (int i = 0; i < 1'000; ++i)
        pool.reserve(10);
    EXPECT_EQ(pool.statistics().blocks, 1u);
    pool.add("text"); // the block is in use now
    pool.reserve(60'000);
    EXPECT_EQ(pool.statistics().blocks, 1u);
    pool.reserve(100'000);
    EXPECT_EQ(pool.statistics().blocks, 2u);
}

TEST_F(StringPool, HoldsAllThatWasReserved) {
    for (const std::size_t bytes : {std::size_t{1} << 16, std::size_t{1} << 18, std::size_t{1} << 21, std::size_t{5} << 20})
        for (std::size_t less = 0; less < 80; less += 8) {
            basic_string_pool<char16_t, limited_memory> one;
            one.reserve(bytes - less);
            limited_pool many, whole;
            many.reserve(bytes - less);
            whole.reserve(bytes - less);
            limited_memory::calls_left = 0;
            const std::size_t characters = (bytes - less) / 2 - 1;
            EXPECT_NO_THROW(one.add(characters, [&](char16_t*) { return characters; })) << bytes - less;
            for (std::size_t i = 0; i < (bytes - less) / 8; ++i)
                ASSERT_NO_THROW(many.add("7 bytes")) << bytes - less;
            EXPECT_NO_THROW(static_cast<void>(whole.allocate(bytes - less))) << bytes - less;
            limited_memory::calls_left = limited_memory::unlimited;
        }
}

TEST_F(StringPool, SmallStringsLeaveLargeBlocksToLargeOnes) {
    limited_pool pool;
    for (int i = 0; i < 10; ++i) {
        pool.add(10'000, [](char*) { return 10'000u; });
        pool.add(1'000'000, [](char*) { return 1'000'000u; });
        EXPECT_EQ(pool.statistics().blocks, 2u);
        pool.clear();
    }
}

// Gives addresses only, so that a large pool does not cost the test memory.
struct kinds_of_blocks : limited_memory {
    static inline std::vector<pages> kinds;
    static void* take(std::size_t bytes, pages kind) noexcept {
        kinds.push_back(kind);
        return limited_memory::take(bytes, pages::small);
    }
    static void populate(void*, std::size_t) noexcept {}
};

TEST_F(StringPool, HugePagesWhereOneIsLessThanAHundredth) {
    kinds_of_blocks::kinds.clear();
    basic_string_pool<char, kinds_of_blocks> pool;
    const auto load = [&](std::size_t bytes) {
        while (pool.statistics().asked < bytes)
            pool.add(50'000, [](char*) { return 50'000u; });
    };
    load(200 * detail::huge_page / 2);
    for (const pages kind : kinds_of_blocks::kinds)
        ASSERT_EQ(kind, pages::small);
    load(300 * detail::huge_page / 2);
    EXPECT_EQ(kinds_of_blocks::kinds.back(), pages::huge);
    EXPECT_LT(pool.statistics().overhead(), 0.01);
}

#ifdef __linux__
// How many of the pool's addresses have memory.
std::size_t resident() {
    const std::size_t page = detail::system_memory::page();
    std::size_t found = 0;
    for (const auto& [at, bytes] : limited_memory::ranges) {
        std::vector<unsigned char> present(bytes / page);
        EXPECT_EQ(mincore(const_cast<void*>(at), bytes, present.data()), 0);
        for (const unsigned char each : present)
            found += each & 1u ? page : 0;
    }
    return found;
}

TEST_F(StringPool, TakenIsWhatIsResident) {
    for (const pages kind : {pages::normal, pages::huge, pages::small}) {
        limited_pool pool(kind);
        const auto load = [&](std::size_t bytes) {
            while (pool.statistics().asked < bytes)
                pool.add("a string of ordinary length");
        };
        for (const std::size_t bytes : {1u, 100'000u, 1'000'000u, 9'000'000u}) {
            load(bytes);
            // Kernels before 5.14, and such as have no huge page left, give what is touched.
            EXPECT_LE(resident(), pool.statistics().taken) << bytes;
            EXPECT_GE(resident(), pool.statistics().asked) << bytes;
        }
        pool.shrink_to_fit();
        EXPECT_EQ(resident(), pool.statistics().taken);
        pool.reserve(5'000'000);
        load(14'100'000);
        EXPECT_LE(resident(), pool.statistics().taken);
        if (kind != pages::huge) {
            EXPECT_LT(static_cast<double>(resident()), 1.01 * static_cast<double>(pool.statistics().asked));
        }
    }
}

// Text that ends where memory ends: not one byte behind it is read.
TEST_F(StringPool, ReadsNothingBehindTheText) {
    const std::size_t page = detail::system_memory::page();
    auto* const mapped = static_cast<char*>(detail::system_memory::take(2 * page, pages::normal));
    std::memset(mapped, 'x', page);
    detail::system_memory::decommit(mapped + page, page);
    limited_pool pool;
    for (std::size_t length = 0; length < 200; ++length)
        EXPECT_EQ(pool.add({mapped + page - length, length}), std::string(length, 'x'));
    detail::system_memory::release(mapped, 2 * page);
}
#endif

TEST_F(StringPool, ReleaseGivesEverythingBack) {
    limited_pool pool;
    pool.add("text");
    pool.intern("text");
    pool.release();
    EXPECT_TRUE(limited_memory::ranges.empty());
    EXPECT_EQ(pool.statistics().taken, 0u);
    EXPECT_EQ(pool.add("again"), "again");
}

TEST_F(StringPool, ReservedBytesComeInOneBlock) {
    limited_pool pool;
    pool.reserve(10'000'000);
    EXPECT_EQ(pool.statistics().blocks, 1u);
    limited_memory::calls_left = 0;
    for (std::size_t i = 0; i < 1'000'000; ++i)
        pool.add("123456789");
    EXPECT_LT(pool.statistics().overhead(), 0.01);
    EXPECT_THROW(pool.reserve(SIZE_MAX), std::bad_alloc);
}

TEST_F(StringPool, MovesWithoutMovingStrings) {
    static_assert(!std::is_copy_constructible_v<string_pool> && !std::is_copy_assignable_v<string_pool>);
    static_assert(std::is_nothrow_move_constructible_v<string_pool> && std::is_nothrow_move_assignable_v<string_pool>);
    limited_pool source;
    const std::string_view text = source.intern("text");
    limited_pool target(std::move(source));
    EXPECT_EQ(target.intern("text").data(), text.data());
    EXPECT_EQ(target.statistics().strings, 1u);
    EXPECT_EQ(source.statistics().taken, 0u);
    EXPECT_EQ(source.add("it can be used again"), "it can be used again");
    source = std::move(target);
    EXPECT_EQ(source.intern("text").data(), text.data());
    EXPECT_EQ(source.statistics().strings, 1u);
}

TEST_F(StringPool, IsAMemoryResource) {
    limited_pool pool;
    {
        std::pmr::vector<std::pmr::string> lines(&pool);
        for (std::size_t i = 0; i < 1'000; ++i)
            lines.emplace_back("a line that is too long for the string itself " + std::to_string(i));
        EXPECT_EQ(lines[999], "a line that is too long for the string itself 999");
    }
    for (const std::size_t alignment : {1u, 2u, 16u, 64u, 4096u, 65536u}) {
        pool.add("misaligned");
        void* const room = pool.allocate(alignment, alignment);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(room) % alignment, 0u);
    }
    EXPECT_NE(pool.allocate(0), nullptr);
    EXPECT_TRUE(pool.is_equal(pool));
    EXPECT_FALSE(pool.is_equal(*std::pmr::new_delete_resource()));
    for (const std::size_t most : {SIZE_MAX - 100, SIZE_MAX - 10, SIZE_MAX})
        EXPECT_THROW(static_cast<void>(pool.allocate(most, 64)), std::bad_alloc) << "more than there are addresses";
}

TEST_F(StringPool, WhatWasAllocatedLastIsUsedAgain) {
    limited_pool pool;
    const auto asked = [&] { return pool.statistics().asked; };
    pool.add("text");
    void* const room = pool.allocate(100, 1);
    EXPECT_EQ(asked(), 105u);
    pool.deallocate(room, 100, 1);
    EXPECT_EQ(asked(), 5u);
    EXPECT_EQ(pool.allocate(50, 1), room);
    const std::string_view text = pool.add("behind");
    pool.deallocate(room, 50, 1);
    EXPECT_EQ(asked(), 5u + 50u + 7u) << "not the last: stays";
    EXPECT_EQ(text, "behind");
}

TEST_F(StringPool, WideStringsBehindOddBytesAreAligned) {
    basic_string_pool<wchar_t, limited_memory> pool;
    static_cast<void>(pool.allocate(3, 1));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool.add(L"wide").data()) % alignof(wchar_t), 0u);
}

} // namespace
