// The recorder's compile-time switches, asked for with MEMTOLL_USING (remedies/include/memtoll/config.hpp).
#pragma once

#include <memtoll/config.hpp>

// Compares every stack with that of libgcc's unwinder (make check-unwind). Never on in a recorder that users get.
#ifndef MEMTOLL_CHECK_UNWIND
#define MEMTOLL_CHECK_UNWIND MEMTOLL_OFF
#endif

// Checks the recorder's own invariants and traps when one is broken. For the recorder's unit tests.
#ifndef MEMTOLL_INVARIANTS
#define MEMTOLL_INVARIANTS MEMTOLL_OFF
#endif

#define MEMTOLL_INVARIANT(condition)                                                                                    \
    do {                                                                                                                \
        if constexpr (MEMTOLL_USING(MEMTOLL_INVARIANTS)) {                                                              \
            if (!(condition)) __builtin_trap();                                                                         \
        }                                                                                                               \
    } while (false)
