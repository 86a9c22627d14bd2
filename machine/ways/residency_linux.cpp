#include "residency.hpp"

#include <cstdint>
#include <cstdio>
#include <sys/stat.h>

namespace memtoll::machine {

Residency residency(const Memory* memories, size_t count) {
    Residency found;
    // Exact, unlike the counters in /proc/self/statm, which each processor updates in batches.
    std::FILE* file = std::fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    while (file != nullptr && std::fgets(line, sizeof line, file) != nullptr) {
        size_t kib = 0;
        if (std::sscanf(line, "Rss: %zu", &kib) == 1 || std::sscanf(line, "Private_Hugetlb: %zu", &kib) == 1)
            found.resident += kib << 10;
        if (std::sscanf(line, "LazyFree: %zu", &kib) == 1)
            found.lazy = kib << 10;
        if (std::sscanf(line, "AnonHugePages: %zu", &kib) == 1 || std::sscanf(line, "Private_Hugetlb: %zu", &kib) == 1)
            found.huge += kib << 10;
    }
    if (file != nullptr)
        std::fclose(file);
    for (size_t i = 0; i < count; ++i) {
        struct stat status{};
        const auto descriptor = static_cast<int>(reinterpret_cast<intptr_t>(memories[i].file)) - 1;
        if (descriptor >= 0 && fstat(descriptor, &status) == 0)
            found.in_file += static_cast<size_t>(status.st_blocks) * 512;
    }
    return found;
}

} // namespace memtoll::machine
