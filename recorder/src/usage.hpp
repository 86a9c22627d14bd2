// What the kernel has counted for a thread or the process: CPU time, page faults, context switches.
#pragma once

#include "thread_state.hpp"

namespace memtoll {

// Appends and publishes it for the calling thread or the whole process. A system call of half a microsecond.
void append_usage(ThreadState* state, wire::UsageBlob::Scope scope);

} // namespace memtoll
