// Compile-time switches, used as `if constexpr (USING(CHECK_UNWIND))` or `#if USING(CHECK_UNWIND)`.
//
// A switch is an expression, not a defined-or-not name: a misspelt, undefined or empty switch does not compile, where
// `#ifdef` would silently mean "off".
#pragma once

#define MEMTOLL_ON 1 &&
#define MEMTOLL_OFF 0 &&
// Expands to (1 && 1) or (0 && 1); anything that is not ON or OFF leaves a syntax error behind.
#define USING(name) (MEMTOLL_USE_##name 1)

// Compares every stack with that of libgcc's unwinder (make check-unwind). Never on in a recorder that users get.
#ifndef MEMTOLL_USE_CHECK_UNWIND
#define MEMTOLL_USE_CHECK_UNWIND MEMTOLL_OFF
#endif

// Checks the recorder's own invariants and traps when one is broken. For the recorder's unit tests.
#ifndef MEMTOLL_USE_INVARIANTS
#define MEMTOLL_USE_INVARIANTS MEMTOLL_OFF
#endif

#define MEMTOLL_INVARIANT(condition)                                                                                    \
    do {                                                                                                                \
        if constexpr (USING(INVARIANTS)) {                                                                              \
            if (!(condition)) __builtin_trap();                                                                         \
        }                                                                                                               \
    } while (false)
