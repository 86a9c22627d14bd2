// Time stamps, in ticks: cycles of the time stamp counter where the kernel trusts it, nanoseconds of CLOCK_MONOTONIC
// elsewhere. The supervisor chooses and records how ticks relate to nanoseconds.
#pragma once

#include "arch/x86_64.hpp"

#include <time.h>

namespace memtoll {

extern bool clock_is_tsc;

[[gnu::noinline, gnu::cold]] uint64_t monotonic_ticks();

[[gnu::always_inline]] inline uint64_t now() {
    if (clock_is_tsc) [[likely]]
        return arch::ticks();
    return monotonic_ticks();
}

// Ticks between two stamps with nothing in between: the smallest of a few tries.
uint64_t measure_stamp_ticks();

} // namespace memtoll
