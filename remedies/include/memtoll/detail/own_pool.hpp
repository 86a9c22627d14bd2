// Tells a recording of memtoll which parts of a pool's memory are handed out (memtoll.h), so that these are counted and
// charged to the lines that asked for them.
//
// MEMTOLL_OWN_POOLS is MEMTOLL_ON or MEMTOLL_OFF; without a word it is on unless NDEBUG is defined, as with assert. Off,
// nothing is left of it. On, without the recorder, each call costs one comparison.
#pragma once

#include <memtoll.h>
#include <memtoll/config.hpp>

#include <cstddef>

#ifndef MEMTOLL_OWN_POOLS
#ifdef NDEBUG
#define MEMTOLL_OWN_POOLS MEMTOLL_OFF
#else
#define MEMTOLL_OWN_POOLS MEMTOLL_ON
#endif
#endif

namespace memtoll::detail {

// A chunk becomes a pool, or an empty one again.
inline void pool_begins([[maybe_unused]] const char* name, [[maybe_unused]] const void* chunk,
                        [[maybe_unused]] std::size_t bytes) noexcept {
#if MEMTOLL_USING(MEMTOLL_OWN_POOLS)
    memtoll_pool_begin(name, chunk, bytes);
#endif
}

inline void pool_ends([[maybe_unused]] const void* chunk) noexcept {
#if MEMTOLL_USING(MEMTOLL_OWN_POOLS)
    memtoll_pool_end(chunk);
#endif
}

inline void handed_out([[maybe_unused]] const void* block, [[maybe_unused]] std::size_t bytes) noexcept {
#if MEMTOLL_USING(MEMTOLL_OWN_POOLS)
    memtoll_alloc(block, bytes);
#endif
}

// A block has another size, at the same place.
inline void resized([[maybe_unused]] const void* block, [[maybe_unused]] std::size_t bytes) noexcept {
#if MEMTOLL_USING(MEMTOLL_OWN_POOLS)
    memtoll_realloc(block, block, bytes);
#endif
}

inline void taken_back([[maybe_unused]] const void* block) noexcept {
#if MEMTOLL_USING(MEMTOLL_OWN_POOLS)
    memtoll_free(block);
#endif
}

} // namespace memtoll::detail
