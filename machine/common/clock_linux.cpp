#include "clock.hpp"

#include <time.h>

namespace memtoll::machine {

namespace {

double read(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

} // namespace

double thread_cpu_ns() { return read(CLOCK_THREAD_CPUTIME_ID); }

double wall_ns() { return read(CLOCK_MONOTONIC); }

} // namespace memtoll::machine
