// What count_allocations.hpp counts and expect.hpp reads.
#pragma once

#include <cstdint>

namespace memtoll::detail {

struct allocation_count {
    std::uint64_t allocations;
    std::uint64_t bytes;
};

// Of the calling thread, since it started. Zero without a constructor: it is counted in before any constructor runs.
inline thread_local allocation_count allocations_of_this_thread{};

// Whether anybody counts: known before static initialisers run.
inline bool allocations_are_counted = false;

} // namespace memtoll::detail
