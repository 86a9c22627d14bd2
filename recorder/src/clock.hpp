// Time stamps, in ticks: cycles of the time stamp counter where the kernel trusts it, nanoseconds of CLOCK_MONOTONIC
// elsewhere. The supervisor chooses and records how ticks relate to nanoseconds.
//
// A program may forbid itself the counter (hooks/sandbox.cpp). From then on the time is a word of the arena, which the
// supervisor sets now and then.
#pragma once

#include "arch/x86_64.hpp"

#include <atomic>
#include <time.h>

namespace memtoll {

extern bool clock_is_tsc;
extern std::atomic<uint64_t>* shared_time; // null: the processor's clocks may be read

[[gnu::noinline, gnu::cold]] uint64_t slow_ticks();

// Nanoseconds. Not where there is a shared time: the C library, too, reads the counter.
uint64_t monotonic_ticks();

[[gnu::always_inline]] inline uint64_t now() {
    if (clock_is_tsc) [[likely]]
        return arch::ticks();
    return slow_ticks();
}

// Ticks between two stamps with nothing in between: the smallest of a few tries. 0 where the time is shared.
uint64_t measure_stamp_ticks();

} // namespace memtoll
