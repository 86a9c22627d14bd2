// The recorder's own memory in the program, beside the arena: so that nobody takes its pages for the program's.
#pragma once

#include "wire.hpp"

#include <cstddef>

namespace memtoll::own_ranges {

// Entries come and go while the supervisor reads them.
const wire::OwnRange* table();

void add(const void* start, size_t bytes);
void remove(const void* start);

} // namespace memtoll::own_ranges
