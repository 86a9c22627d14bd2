// The process's mappings, as the kernel lists them in /proc/self/maps.
//
// Each question opens that file for a moment: for what is asked rarely, and remembered.
#pragma once

#include <cstdint>

namespace memtoll::process_maps {

struct Mapping {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    bool executable = false;
    bool holds(uintptr_t address) const { return address >= begin && address < end; }
};

// kNothing: nothing is mapped at the address. kUnknown: the kernel does not say, or would have to be asked too often.
enum class Answer { kFound, kNothing, kUnknown };

// The mapping that holds `address`.
Answer find(uintptr_t address, Mapping& found);

// The two ways to ask, each on a newly opened /proc/self/maps. find() takes the second one where the first one is missing.
//
// Linux 6.11 and later answer for one address.
Answer query(long file, uintptr_t address, Mapping& found);
// Earlier ones write out all mappings, which are read up to the one that is asked for. Adds the number of bytes to `read`.
Answer read_list(long file, uintptr_t address, Mapping& found, uint64_t& read);

} // namespace memtoll::process_maps
