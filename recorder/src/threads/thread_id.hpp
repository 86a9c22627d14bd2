// The kernel's id of the calling thread, also where the program may make no system calls.
#pragma once

#include <cstdint>

namespace memtoll {

// 0: not known. A system call, or a look at what the C library keeps of the thread.
uint32_t thread_id();

} // namespace memtoll
