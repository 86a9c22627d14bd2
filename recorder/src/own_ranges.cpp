#include "own_ranges.hpp"

// ld: the recorder's own first byte, and the one behind its last.
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[], _end[];

namespace memtoll::own_ranges {
namespace {

// The first one is the recorder's file.
constinit wire::OwnRange ranges[wire::kMostOwnRanges] = {};

} // namespace

const wire::OwnRange* table() {
    ranges[0].bytes.store(static_cast<uint64_t>(_end - __ehdr_start), std::memory_order_relaxed);
    ranges[0].start.store(reinterpret_cast<uint64_t>(__ehdr_start), std::memory_order_release);
    return ranges;
}

// What finds no room counts as the program's.
void add(const void* start, size_t bytes) {
    for (unsigned i = 1; i < wire::kMostOwnRanges; ++i) {
        uint64_t none = 0;
        if (ranges[i].start.load(std::memory_order_relaxed) != 0) continue;
        if (!ranges[i].start.compare_exchange_strong(none, reinterpret_cast<uint64_t>(start), std::memory_order_acq_rel)) continue;
        ranges[i].bytes.store(bytes, std::memory_order_release);
        return;
    }
}

void remove(const void* start) {
    for (unsigned i = 1; i < wire::kMostOwnRanges; ++i)
        if (ranges[i].start.load(std::memory_order_relaxed) == reinterpret_cast<uint64_t>(start)) {
            ranges[i].bytes.store(0, std::memory_order_relaxed);
            ranges[i].start.store(0, std::memory_order_release);
            return;
        }
}

} // namespace memtoll::own_ranges
