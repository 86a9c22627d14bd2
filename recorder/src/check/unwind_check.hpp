// CHECK_UNWIND builds only: compares each event's stack with that of an independent unwinder, libgcc's.
#pragma once

#include "../threads/thread_state.hpp"

namespace memtoll {

// `frame` is the hook's frame address, `node` what the recorder found for it. Counts in the arena; the first
// disagreements of each process are written, both stacks, to the file that MEMTOLL_UNWIND_LOG names.
[[gnu::noinline]] void check_unwind(ThreadState* state, arch::HookFrame frame, uint32_t node);

} // namespace memtoll
