// What the kernel has counted for a thread or the process: CPU time, page faults, context switches.
#pragma once

#include "event_log.hpp"

namespace memtoll {

// Appends and publishes it for the calling thread or the whole process. A system call of half a microsecond.
void append_usage(ThreadLog& log, wire::UsageBlob::Scope scope);

// Page faults that the kernel has counted for the calling thread. A system call of a quarter of a microsecond.
uint64_t faults_of_this_thread();

// The largest resident set of the process so far, as the kernel knows it: of now, if there was never more. 0: not known. A system call of
// a quarter of a microsecond.
uint64_t largest_resident_set_kib();

// Whether the process has used more than a short one does: 20 ms of CPU time, or 16 MiB at once.
bool has_used_much();

} // namespace memtoll
