// By how much calls look longer than they are, with made-up times.
#include "stamp_overlap.hpp"

#include <gtest/gtest.h>

namespace memtoll {
namespace {

void compare(Overlap& overlap, uint64_t before, uint64_t ticks) {
    overlap.begin(before);
    overlap.end(ticks);
}

TEST(Overlap, ACallIsComparedWithTheOneBefore) {
    Overlap overlap;
    compare(overlap, 60, 45);
    compare(overlap, 40, 50); // whichever of both is the longer one
    EXPECT_EQ(overlap.pairs(), 2u);
    EXPECT_EQ(overlap.ticks(), 15 - 10);
    compare(overlap, 10, 30);
    EXPECT_EQ(overlap.ticks(), -15);
}

TEST(Overlap, LongCallsAndThoseWithoutAnotherBeforeTellNothing) {
    Overlap overlap;
    compare(overlap, 0, 45);
    compare(overlap, 100'000, 45);
    compare(overlap, 45, 100'000);
    overlap.end(45); // never begun: an event of a rare kind
    EXPECT_EQ(overlap.pairs(), 0u);
    EXPECT_EQ(overlap.ticks(), 0);
}

} // namespace
} // namespace memtoll
