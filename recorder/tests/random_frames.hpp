// Call paths through frames of every kind that the compiler makes here.
#pragma once

#include "settings.hpp"
#include "walker.hpp"

#include <gtest/gtest.h>

namespace memtoll::unwind::walks {

inline test::Random* choice = nullptr; // of the next frame's kind
inline unsigned checked = 0;
inline unsigned truncated = 0;
inline uintptr_t last_return_slot = 0; // of check's own call

// Stands where a hook would stand: finds its own stack by the table or the image (node), twice, and compares it with that of
// libgcc's _Unwind_Backtrace.
void check();

// Calls check() below `levels` frames of random kinds.
void descend(unsigned levels);

class Walk : public testing::Test {
protected:
    void SetUp() override {
        walker = &walker_;
        choice = &random_;
        checked = truncated = 0;
    }
    Walker walker_;
    test::Random random_{11};
};

} // namespace memtoll::unwind::walks
