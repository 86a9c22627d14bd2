// Measures what single operations of the kernel and of the allocator cost, in a few milliseconds of CPU time.
//
//   memtoll-prices
//
// Prints a line an operation: its name, then its samples, each the CPU time of one operation in nanoseconds. An operation
// that this machine does not offer has no line. It is a program of its own so that it has a heap of its own: whoever
// wants to know is not disturbed.
#include "operations.hpp"

#include <cstdio>

int main() {
    using namespace memtoll::machine;
    static Series all[kMostSeries];
    const size_t count = measure_operations(all);
    for (size_t i = 0; i < count; ++i) {
        std::printf("%s", all[i].name);
        for (size_t k = 0; k < all[i].samples; ++k)
            std::printf(" %.2f", all[i].ns[k]);
        std::printf("\n");
    }
    return std::fflush(stdout) == 0 ? 0 : 1;
}
