#include "clock.hpp"

namespace memtoll {

bool clock_is_tsc = arch::kHasCounter;
std::atomic<uint64_t>* shared_time = nullptr;

// Until the supervisor tells.
static constexpr uint32_t kUsualTicks = 2'500;
static uint32_t ticks_per_microsecond = kUsualTicks;
constinit Thresholds thresholds = Thresholds::at(kUsualTicks);

void set_ticks_per_microsecond(uint32_t ticks) {
    if (ticks == 0) return;
    ticks_per_microsecond = ticks;
    thresholds = Thresholds::at(ticks);
}

uint64_t ticks_of_ns(uint64_t ns) { return ns / 1'000 * ticks_per_microsecond; }

MEMTOLL_ALIGNS_STACK uint64_t monotonic_ticks() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(t.tv_nsec);
}

uint64_t slow_ticks() {
    if (shared_time) return shared_time->fetch_add(1, std::memory_order_acq_rel);
    return monotonic_ticks();
}

uint64_t measure_stamp_ticks() {
    if (shared_time && !clock_is_tsc) return 0;
    uint64_t smallest = UINT64_MAX;
    for (int i = 0; i < 64; ++i) {
        const uint64_t first = now();
        const uint64_t second = now();
        if (second - first < smallest) smallest = second - first;
    }
    return smallest;
}

} // namespace memtoll
