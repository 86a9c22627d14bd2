// What of a process lies in memory.
#pragma once

#include "ways.hpp"

namespace memtoll::machine {

struct Residency {
    size_t resident = 0; // bytes that count for this process
    size_t lazy = 0;     // of these, what the system may take when it needs memory
    size_t huge = 0;     // of these, what lies in huge pages
    size_t in_file = 0;  // bytes that the files of the memory hold, mapped or not
};

Residency residency(const Memory* memories, size_t count);

} // namespace memtoll::machine
