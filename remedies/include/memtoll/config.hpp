// Compile-time switches that cannot be wrong in silence.
//
//     #define GAME_TRACING MEMTOLL_ON              // or -D GAME_TRACING=MEMTOLL_ON
//
//     #if MEMTOLL_USING(GAME_TRACING)              // in the preprocessor
//     if constexpr (MEMTOLL_USING(GAME_TRACING))   // and in code
//
// A switch is an operator, and asking for it makes it part of an expression. A switch that is misspelt, undefined, empty,
// 0 or 1 leaves an expression that does not compile, where `#if GAME_TRACNG` and `#ifdef` silently mean "off".
// Costs nothing at run time. C and C++, any standard.
#pragma once

// The two values of a switch.
#define MEMTOLL_ON +
#define MEMTOLL_OFF -

// 1 + 1 is 2, 1 - 1 is not.
#define MEMTOLL_USING(SWITCH) ((1 SWITCH 1) == 2)
