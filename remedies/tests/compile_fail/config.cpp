// Compiles if, and only if, GAME_TRACING is a switch. The command line says in which place it is asked for; without a
// word, in both.
#include <memtoll/config.hpp>

#ifndef IN_CODE
#if MEMTOLL_USING(GAME_TRACING)
constexpr bool tracing = true;
#else
constexpr bool tracing = false;
#endif
#endif

#ifndef IN_PREPROCESSOR
constexpr bool also_tracing = MEMTOLL_USING(GAME_TRACING);
#endif

#if !defined(IN_CODE) && !defined(IN_PREPROCESSOR)
static_assert(tracing == also_tracing);
#endif
