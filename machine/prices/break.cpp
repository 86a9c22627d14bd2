// The heap's end: what malloc moves when the heap grows, and when it is trimmed.
#include "../common/clock.hpp"
#include "operations.hpp"

#include <cstdint>
#include <unistd.h>

namespace memtoll::machine {

namespace {

constexpr intptr_t kStep = 128 << 10; // as the GNU C library's M_TOP_PAD
constexpr size_t kSamples = 15;
constexpr size_t kCalls = 8;

bool move_by(intptr_t bytes) { return sbrk(bytes) != reinterpret_cast<void*>(-1); }

} // namespace

Series* measure_break(Series* into) {
    Series& grow = into[0] = {"brk_grow", 0, {}};
    Series& trim = into[1] = {"brk_trim", 0, {}};
    const double stamp = empty_span_ns(thread_cpu_ns);
    for (size_t i = 0; i <= kSamples; ++i) {
        size_t grown = 0;
        const double t0 = thread_cpu_ns();
        while (grown < kCalls && move_by(kStep))
            ++grown;
        const double t1 = thread_cpu_ns();
        for (size_t k = 0; k < grown; ++k)
            move_by(-kStep);
        const double t2 = thread_cpu_ns();
        if (grown < kCalls)
            break;
        if (i > 0) {
            grow.add((t1 - t0 - stamp) / kCalls);
            trim.add((t2 - t1 - stamp) / kCalls);
        }
    }
    return into + 2;
}

size_t measure_operations(Series (&into)[kMostSeries]) {
    Series* end = measure_pages(into);
    end = measure_allocator(end);
    end = measure_break(end);
    return static_cast<size_t>(end - into);
}

} // namespace memtoll::machine
