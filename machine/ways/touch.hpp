// Touching memory.
#pragma once

#include "ways.hpp"

namespace memtoll::machine {

enum class Touch {
    kWhole,  // every byte, as memset does
    kSparse, // the first byte of each 64 KiB
};

// How long single writes took: wall time, nanoseconds.
struct Latencies {
    static constexpr size_t kMost = 8192;

    size_t count = 0;
    float ns[kMost];
};

// Writes to memory. The last part of it is written page by page (or byte by byte), each write timed: few enough that the
// clock does not weigh.
void touch(const Memory& memory, Touch how, char value, double stamp_ns, Latencies& latencies);

} // namespace memtoll::machine
