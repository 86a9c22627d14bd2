// Work in several threads.
#pragma once

#include <cstddef>

namespace memtoll::machine {

// Calls work(context, index) in `count` threads, index 0 being the caller's, and waits for all of them. False if a
// thread cannot be started; then only some of the calls were made.
bool in_threads(size_t count, void (*work)(void* context, size_t index), void* context);

} // namespace memtoll::machine
