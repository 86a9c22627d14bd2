#include "kernel.hpp"

#include <cerrno>
#include <cstring>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace memtoll {
namespace {

constexpr size_t kPage = 4096;

TEST(Kernel, ReadableIsWhatCanBeRead) {
    auto* pages = static_cast<char*>(kernel::map_private(2 * kPage));
    ASSERT_NE(pages, nullptr);
    kernel::unmap(pages + kPage, kPage);
    errno = 77;
    EXPECT_TRUE(kernel::readable(reinterpret_cast<uintptr_t>(pages + kPage - 8)));
    EXPECT_FALSE(kernel::readable(reinterpret_cast<uintptr_t>(pages + kPage)));
    EXPECT_FALSE(kernel::readable(8));
    EXPECT_EQ(errno, 77);
    kernel::unmap(pages, kPage);
}

TEST(Kernel, AWordIsReadOrZero) {
    auto* pages = static_cast<char*>(kernel::map_private(2 * kPage));
    ASSERT_NE(pages, nullptr);
    kernel::unmap(pages + kPage, kPage);
    const auto last = reinterpret_cast<uintptr_t>(pages + kPage - 8);
    *reinterpret_cast<uint64_t*>(last) = 4711;
    errno = 77;
    EXPECT_EQ(kernel::word_at(last), 4711u);
    EXPECT_EQ(kernel::word_at(last + 8), 0u);
    kernel::silent = 1;
    EXPECT_EQ(kernel::word_at(last), 0u);
    kernel::silent = 0;
    EXPECT_EQ(errno, 77);
    kernel::unmap(pages, kPage);
}

TEST(Kernel, WhatIsInMemoryIsCounted) {
    constexpr size_t kPages = 2000;
    auto* memory = static_cast<char*>(kernel::map_private(kPages * kPage));
    ASSERT_NE(memory, nullptr);
    kernel::no_huge_pages(memory, kPages * kPage);
    const auto start = reinterpret_cast<uintptr_t>(memory);
    EXPECT_EQ(kernel::resident(start, kPages * kPage), 0u);
    for (const size_t page : {0, 511, 512, 1999}) memory[page * kPage] = 1;
    EXPECT_EQ(kernel::resident(start, kPages * kPage), 4 * kPage);
    EXPECT_EQ(kernel::resident(start, 512 * kPage), 2 * kPage);
    kernel::zero(memory, 512 * kPage);
    EXPECT_EQ(kernel::resident(start, kPages * kPage), 2 * kPage);
    kernel::unmap(memory, kPages * kPage);
}

TEST(Kernel, SilentCallsFail) {
    auto* page = static_cast<char*>(kernel::map_private(kPage));
    ASSERT_NE(page, nullptr);
    *page = 1;
    EXPECT_NE(kernel::thread_id(), 0u);
    errno = 77;
    kernel::silent = 1;
    EXPECT_EQ(kernel::map_private(kPage), nullptr);
    EXPECT_EQ(kernel::resident(reinterpret_cast<uintptr_t>(page), kPage), 0u);
    EXPECT_FALSE(kernel::wipe_on_fork(page, kPage));
    EXPECT_EQ(kernel::thread_id(), 0u);
    EXPECT_FALSE(kernel::readable(reinterpret_cast<uintptr_t>(page))) << "not known is as good as no";
    kernel::zero(page, kPage);
    kernel::unmap(page, kPage);
    kernel::silent = 0;
    EXPECT_EQ(*page, 1);
    EXPECT_EQ(errno, 77);
    kernel::unmap(page, kPage);
}

TEST(Kernel, TheLargestResidentSetIsThatOfThisProgram) {
    constexpr size_t kMuch = 64 << 20;
    auto* memory = static_cast<char*>(kernel::map_private(kMuch));
    ASSERT_NE(memory, nullptr);
    const uint64_t before = kernel::resident_set().largest;
    memset(memory, 1, kMuch);
    const uint64_t with_it = kernel::resident_set().now;
    kernel::unmap(memory, kMuch);
    const auto [now, after] = kernel::resident_set();
    EXPECT_GE(with_it, kMuch / 1024);
    EXPECT_LT(now, with_it - kMuch / 1024 / 2);
    EXPECT_GT(before, 0u);
    EXPECT_GE(after, kMuch / 1024);
    EXPECT_LE(after, before + kMuch / 1024 + 1024);
    rusage usage;
    ASSERT_EQ(getrusage(RUSAGE_SELF, &usage), 0);
    EXPECT_LE(after, static_cast<uint64_t>(usage.ru_maxrss) + 1024);
}

} // namespace
} // namespace memtoll
