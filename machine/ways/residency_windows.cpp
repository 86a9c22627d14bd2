#include "residency.hpp"

#include <windows.h>

#include <psapi.h>

namespace memtoll::machine {

Residency residency(const Memory*, size_t) {
    Residency found;
    PROCESS_MEMORY_COUNTERS counters{};
    if (GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof counters))
        found.resident = counters.WorkingSetSize;
    return found;
}

} // namespace memtoll::machine
