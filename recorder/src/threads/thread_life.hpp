// How threads begin and end to be recorded. The recorder is not told of a thread: it notices it at its first event, and its
// end by the destructor of a thread-specific value.
#pragma once

#include "thread_state.hpp"

namespace memtoll {

// Once per process image.
bool prepare_threads();

// In a forked child, where only the calling thread is left.
void forget_threads();

// Gives the calling thread a state, for as long as it lives or, `borrowed`, for one event; marked as busy in the hook whose
// frame is `frame`. Null when there is none to be had: the event is counted as dropped.
ThreadState* attach(arch::HookFrame frame, bool borrowed);

// Whether the calling thread has given up its state, and its last frees are under way.
bool is_ending();

// Brings the slot's statistics up to date.
void publish_statistics(ThreadState* state);

} // namespace memtoll
