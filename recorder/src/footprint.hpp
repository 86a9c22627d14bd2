// How much of the process's memory is the recorder's own: what it may have, and what it has.
#pragma once

#include "resident_peak.hpp"

#include <cstddef>

namespace memtoll::footprint {

// The recorder begins to use `bytes` more. Called where that is a rare event.
void grow(size_t bytes);

// The same for what merely makes it faster: false if it has had its part of the memory. All threads share one part, and each
// further thread adds a little to it.
bool take(size_t bytes);

// Memory of the recorder's that will be written soon comes now, whole pages of it: one after the other, when they are touched,
// they take twice as long, and a table that is searched before it is filled takes two faults a page.
void bring(void* start, size_t bytes);

// Begins to look. `forked`: in a forked child, which has just copied its parent's memory.
void begin(bool forked);

// Looks now. What it says holds up to now. May open a file for a moment.
ResidentPeak::Figures look();

} // namespace memtoll::footprint
