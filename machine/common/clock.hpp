// The clocks of a measurement.
//
// CPU time (user and system) is what the operations cost, and steady on a busy machine; wall time has the waiting in it.
#pragma once

#include <cstdint>

namespace memtoll::machine {

// Nanoseconds of CPU time of the calling thread.
double thread_cpu_ns();

// Nanoseconds of wall time since some fixed instant.
double wall_ns();

// Nanoseconds between two readings of `clock` with nothing in between: the least of a few tries.
template <class Clock> double empty_span_ns(Clock clock) {
    double least = 1e9;
    for (int i = 0; i < 32; ++i) {
        const double begin = clock();
        const double span = clock() - begin;
        if (span < least)
            least = span;
    }
    return least;
}

} // namespace memtoll::machine
