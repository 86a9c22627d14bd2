// The operations that have a price.
#pragma once

#include <cstddef>

namespace memtoll::machine {

// The samples of one operation: each is the mean of many operations in a row.
struct Series {
    static constexpr size_t kMost = 64;

    const char* name;
    size_t samples;
    double ns[kMost];

    void add(double value) {
        if (samples < kMost)
            ns[samples++] = value;
    }
};

inline constexpr size_t kMostSeries = 16;

// Measures them all; returns how many there are.
size_t measure_operations(Series (&into)[kMostSeries]);

// These do so for a part each, and return the end of what they wrote.
Series* measure_pages(Series* into);      // faults, zeroing, mapping and unmapping
Series* measure_allocator(Series* into);  // malloc and free
Series* measure_break(Series* into);      // the heap's end

} // namespace memtoll::machine
