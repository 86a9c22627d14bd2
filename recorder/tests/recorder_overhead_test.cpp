// The recorder's estimate of its own cost, with made-up times.
#include "clock.hpp"
#include "recorder_overhead.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

namespace memtoll {
namespace {

// Times every event that is to be timed out of `events`, each of which costs `own` ticks beside a real call of 1000.
uint64_t estimate(unsigned events, uint64_t own, unsigned* timed = nullptr) {
    OwnCost cost;
    uint64_t now = 1'000'000;
    unsigned left = 1;
    for (unsigned i = 0; i < events; ++i) {
        now += 12'345;
        if (--left > 0) continue;
        if (i == 0) cost.begin_first({now, 0});
        else cost.begin(now);
        EXPECT_TRUE(cost.timing());
        now += own + 1000;
        cost.end(now, 1000);
        EXPECT_FALSE(cost.timing());
        left = cost.interval();
        if (timed) ++*timed;
    }
    return cost.ticks();
}

TEST(OwnCost, SamplesStandForAllEvents) {
    unsigned timed = 0;
    EXPECT_NEAR(static_cast<double>(estimate(1'000'000, 150, &timed)), 150e6, 150e6 * 0.01);
    EXPECT_NEAR(timed, 1'000'000 / 64, 1'000'000 / 64 * 0.05);
}

// Clocks may move in steps of many ticks: on some virtual machines all stamps are multiples of one number.
TEST(OwnCost, CoarseClocksChangeNoInterval) {
    for (const uint64_t step : {1u, 2u, 7u, 9u, 21u, 25u, 36u, 63u, 64u, 100u, 1000u}) {
        OwnCost cost;
        uint64_t now = 63'000'000 * step;
        uint64_t events = 0;
        cost.begin_first({now, 0});
        constexpr unsigned kTimed = 4000;
        for (unsigned i = 0; i < kTimed; ++i) {
            now += step * cost.interval();
            cost.end(now, 0);
            events += cost.interval();
            cost.begin(now);
        }
        EXPECT_NEAR(static_cast<double>(events) / kTimed, 64, 64 * 0.05) << "ticks come in steps of " << step;
    }
}

TEST(OwnCost, FewEventsAreNotMissed) {
    EXPECT_EQ(estimate(1, 150), 150u);
    for (const unsigned events : {2u, 5u, 20u, 63u, 100u}) {
        const uint64_t found = estimate(events, 150);
        EXPECT_LE(found, events * 150u);
        EXPECT_GT(found, events * 150u / 3);
    }
}

TEST(OwnCost, RareAndInterruptedEventsStandForThemselves) {
    OwnCost cost;
    cost.begin_first({1, 0});
    cost.end(101, 0);
    cost.begin(1000); // for two events
    cost.end(1100, 0);
    EXPECT_EQ(cost.ticks(), 100u + 2 * 100u);
    ASSERT_GT(cost.interval(), 1u);
    cost.begin(2000); // how much of it the thread had the processor is not known
    cost.end(10'002'000, 0);
    EXPECT_EQ(cost.ticks(), 10'000'300u);
    ASSERT_GT(cost.interval(), 1u);
    cost.begin_rare({11'000'000, 0});
    cost.end(11'000'100, 0);
    EXPECT_EQ(cost.ticks(), 10'000'400u);
}

TEST(OwnCost, WaitingIsLeftOutAndNestedHooksAreNot) {
    OwnCost cost;
    cost.begin_first({1000, 0});
    cost.leave_out(5000);
    cost.add_nested(30);
    cost.end(1000 + 5000 + 200 + 100, 100); // 30 of the real call's 100 are the recorder's
    EXPECT_EQ(cost.ticks(), 230u);
    cost.leave_out(7); // nothing is being timed
    EXPECT_FALSE(cost.timing());
}

TEST(OwnCost, NeitherExceptionsNorUnequalClocksMakeItLarge) {
    OwnCost cost;
    cost.begin_first({1000, 0});
    cost.abandon();
    EXPECT_FALSE(cost.timing());
    cost.begin_rare({5000, 0});
    cost.end(4990, 10);
    cost.begin_rare({6000, 0});
    cost.end(6050, 60);
    EXPECT_EQ(cost.ticks(), 0u);
}

// A thread that begins may have no processor for long, and so may any other.
TEST(OwnCost, WhatOtherThreadsDoMeanwhileIsNotIts) {
    OwnCost cost;
    cost.begin_first(BeginOfRare::now());
    for (int i = 0; i < 2; ++i) {
        usleep(200'000);
        cost.end(now(), 0);
        EXPECT_LT(cost.ticks(), ticks_of_ns(100'000'000));
        cost.begin(now());
    }
}

} // namespace
} // namespace memtoll
