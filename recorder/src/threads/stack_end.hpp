// Where the stacks of threads begin, at their high ends. It is for the C library to say.
#pragma once

#include "../unwind/stack_memory.hpp"

#include <cstdint>

namespace memtoll {

// For the calling thread, of which `stack_pointer` is an address.
unwind::StackEnd stack_end_of_this_thread(uintptr_t stack_pointer);

} // namespace memtoll
