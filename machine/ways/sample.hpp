// One sample: memory used twice in one of the ways.
#pragma once

#include "touch.hpp"

namespace memtoll::machine {

// Uses memory twice in each of `threads` threads and prints what it cost. False, with the reason on standard output, if
// a step failed.
bool take_sample(const Way& way, Touch how, size_t bytes_per_thread, size_t threads);

} // namespace memtoll::machine
