// Where memtoll is attached to a running process: the instant from which on its calls are recorded.
//
// Blocks from before are those that the heap has at an instant when no thread is inside the allocator. So from when the jumps are
// written, each thread waits before its first call until the heap has been read: threads that are inside the allocator leave it, and
// none comes after them. Calls of a signal handler, which may have interrupted such a thread, do not wait: they belong to the time
// before. Calls that the allocator makes itself, which only jumps see, are none of the program's at any time.
#pragma once

#include "../arch/arch.hpp"

namespace memtoll::recording_start {

// Called where a thread has no state: before its first event, and for its last ones. `frame`: its hook's. Waits where it has to.
// False: the call is not to be recorded.
bool is_reached(arch::HookFrame frame);

} // namespace memtoll::recording_start
