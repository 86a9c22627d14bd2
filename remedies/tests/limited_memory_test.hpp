// A test that begins with a system that gives, and at whose end the system has everything back.
#pragma once

#include "limited_memory.hpp"

#include <gtest/gtest.h>

namespace memtoll::test {

struct LimitedMemoryTest : testing::Test {
    void SetUp() override { limited_memory::forget(); }
    void TearDown() override {
        EXPECT_TRUE(limited_memory::ranges.empty()) << "memory was not given back";
        EXPECT_EQ(limited_memory::wrong_releases, 0u) << "released with another address or size than it was given with";
    }
};

} // namespace memtoll::test
