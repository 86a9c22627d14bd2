// What the kernel has counted for a thread or the process: CPU time, page faults, context switches.
#pragma once

#include "event_log.hpp"

namespace memtoll {

// Appends and publishes it for the calling thread or the whole process. A system call of half a microsecond.
void append_usage(ThreadLog& log, wire::UsageBlob::Scope scope);

// Page faults that the kernel has counted for the calling thread. A system call of a quarter of a microsecond.
uint64_t faults_of_this_thread();

// Whether the process has used more than a short one does: 20 ms of CPU time, or 16 MiB at once.
bool has_used_much();

} // namespace memtoll
