// Time stamps, in ticks: cycles of the time stamp counter where the kernel trusts it, nanoseconds of CLOCK_MONOTONIC
// elsewhere. The supervisor chooses and records how ticks relate to nanoseconds.
//
// A program may forbid itself the counter (hooks/sandbox.cpp). From then on the time is a word of the arena, which the
// supervisor sets now and then.
#pragma once

#include "arch/arch.hpp"

#include <atomic>
#include <time.h>

namespace memtoll {

extern bool clock_is_tsc;
extern std::atomic<uint64_t>* shared_time; // null: the processor's clocks may be read

[[gnu::noinline, gnu::cold]] uint64_t slow_ticks();

// Ticks in a microsecond: the supervisor tells, as it makes the arena.
void set_ticks_per_microsecond(uint32_t ticks);
uint64_t ticks_of_ns(uint64_t ns);

// Times that the recorder compares calls with, in ticks. They follow from nanoseconds by the rate of the clock.
struct Thresholds {
    // No shorter call has moved the end of the heap: that takes a system call, and mostly a page fault.
    uint64_t slow_call;
    // Longer calls are left out of the overlap, because they would only add noise. It must be more than the program can wait
    // for memory, which may be the overlap: hundreds of ns.
    uint64_t short_call;
    // Longer than any event takes by itself: the thread was interrupted.
    uint64_t interrupted;

    static constexpr Thresholds at(uint32_t ticks_per_microsecond) {
        constexpr uint64_t kSlowCallNs = 500, kShortCallNs = 1'000, kInterruptedNs = 80'000;
        const auto ticks = [&](uint64_t ns) { return ns * ticks_per_microsecond / 1'000; };
        return {ticks(kSlowCallNs), ticks(kShortCallNs), ticks(kInterruptedNs)};
    }
};
extern Thresholds thresholds;

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
