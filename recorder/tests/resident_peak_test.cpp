#include "resident_peak.hpp"

#include <gtest/gtest.h>

namespace memtoll {
namespace {

using Range = ResidentPeak::Range;

ResidentPeak::Seen seen(uint64_t turn, uint64_t largest, uint64_t own, uint64_t tables = 0) {
    return {turn, largest, Range::of(own), Range::of(tables)};
}

constexpr uint64_t kInherited = 8000;

// A program that was executed by a process of `inherited` KiB, the recorder having 500.
ResidentPeak executed(uint64_t inherited = kInherited) {
    ResidentPeak peak;
    peak.begin(seen(1, inherited, 500), false);
    return peak;
}

ResidentPeak::Figures figures(const ResidentPeak& peak, uint64_t since_exec = 0) {
    return peak.figures(0, since_exec);
}

void expect(const ResidentPeak::Figures& is, uint64_t program, uint64_t recorder, uint64_t error) {
    EXPECT_EQ(is.program_kib, program);
    EXPECT_EQ(is.recorder_kib, recorder);
    EXPECT_EQ(is.error_kib, error);
}

TEST(ResidentPeak, IsReachedBetweenTwoLooks) {
    ResidentPeak peak = executed();
    peak.add(seen(2, 20000, 600, 64));
    expect(figures(peak), 20000 - 550 - 32, 550, 50 + 32);
    peak.add(seen(3, 20000, 4000, 64)); // the recorder grew where the program had less
    expect(figures(peak), 20000 - 550 - 32, 550, 50 + 32);
    peak.add(seen(4, 30000, 4200, 64));
    expect(figures(peak), 30000 - 4100 - 32, 4100, 100 + 32);
}

TEST(ResidentPeak, OfAForkedChildIsKnownAtOnce) {
    ResidentPeak peak;
    peak.begin(seen(1, 9000, 700), true);
    expect(figures(peak), 8300, 700, 0);
}

TEST(ResidentPeak, OfASmallProgramIsAskedFor) {
    ResidentPeak peak = executed();
    peak.add(seen(2, kInherited, 900));
    peak.add(seen(3, kInherited, 700, 100)); // it gave some back
    expect(figures(peak, 3000), 3000 - 700 - 50, 700, 200 + 50);
    expect(figures(peak), 0, 0, 0);
}

TEST(ResidentPeak, OfNowIsBesideThatOfThePeak) {
    ResidentPeak peak = executed();
    peak.add(seen(2, 20000, 600, 64));
    const auto is = peak.figures(12000, 20000);
    EXPECT_EQ(is.now_kib, 12000u - 600 - 32);
    EXPECT_EQ(is.now_error_kib, 32u);
    expect(is, 20000 - 550 - 32, 550, 50 + 32);
    EXPECT_EQ(peak.figures(0, 20000).now_kib, 0u) << "the kernel did not say";
    const auto more = peak.figures(20200, 20000); // it counts the largest one with less care
    EXPECT_EQ(more.program_kib, more.now_kib);
    EXPECT_GE(more.error_kib, more.now_error_kib);
}

TEST(ResidentPeak, MayHaveBeenHidden) {
    ResidentPeak peak = executed();
    peak.add(seen(2, kInherited + 500, 5500)); // the recorder brought it there; the program has 3000 now
    const auto is = figures(peak);
    EXPECT_LE(is.program_kib - is.error_kib, 3000u);
    EXPECT_GE(is.program_kib + is.error_kib, kInherited - 500);
}

TEST(ResidentPeak, LateLooksDoNotCount) {
    ResidentPeak peak = executed();
    peak.add(seen(4, 20000, 600, 128));
    const auto before = figures(peak);
    peak.add(seen(3, 30000, 4000, 128)); // began earlier
    peak.add(seen(5, 19000, 4000, 128)); // ended earlier
    peak.add({.turn = 6, .largest = 0, .own = Range::of(4000), .tables = {}}); // the kernel did not say
    expect(figures(peak), before.program_kib, before.recorder_kib, before.error_kib);
}

TEST(ResidentPeak, TheErrorHoldsWhateverTheOrder) {
    ResidentPeak peak = executed();
    peak.add(seen(2, 20000, 4000, 256));
    peak.add(seen(3, 25000, 600, 64)); // less of both than before
    expect(figures(peak), 25000 - 2300 - 128, 2300, 1700 + 128);
}

TEST(ResidentPeak, IsUnknownWhereTheKernelNeverSays) {
    ResidentPeak peak;
    peak.begin({}, true);
    peak.add({});
    expect(figures(peak, 3000), 0, 0, 0);
}

} // namespace
} // namespace memtoll
