// Measures what taking memory and giving it back costs, in one of the ways.
//
//   memtoll-ways list BYTES                          every way, and why one cannot be gone here
//   memtoll-ways sample WAY whole|sparse BYTES THREADS   BYTES in each thread, used twice
//
// `list` prints a line a way: id, name, whether threads may do so together ("threads" or "alone"), and an obstacle or
// nothing; separated by tabs.
//
// `sample` prints for each use "use TAKE TOUCH GIVE WALL", CPU time of all threads and wall time of the slowest, and
// "latencies NS ...", single writes; then "resident BEFORE TOUCHED GIVEN LAZY IN_FILE HUGE", bytes. Times are in
// nanoseconds. If a call fails it prints "failed CALL: REASON" instead.
//
// A sample is a process: no way finds what another one left behind.
#include "../common/threads.hpp"
#include "sample.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

using namespace memtoll::machine;

constexpr const char* kUsage = "usage: memtoll-ways list BYTES | sample WAY whole|sparse BYTES THREADS\n";

// A number from `least` to `most`; 0 if the text is none.
size_t number(const char* text, size_t least, size_t most) {
    char* end = nullptr;
    const unsigned long long value = std::strtoull(text, &end, 10);
    return *end == 0 && value >= least && value <= most ? static_cast<size_t>(value) : 0;
}

int list(const char* bytes_text) {
    const size_t bytes = number(bytes_text, kHugePage, SIZE_MAX);
    if (bytes == 0)
        return std::fputs(kUsage, stderr), 2;
    for (size_t i = 0; i < kWayCount; ++i) {
        const Way& way = kWays[i];
        const char* obstacle = way.obstacle == nullptr ? nullptr : way.obstacle(bytes);
        std::printf("%s\t%s\t%s\t%s\n", way.id, way.name, way.in_threads ? "threads" : "alone",
                    obstacle == nullptr ? "" : obstacle);
    }
    return 0;
}

int sample(char** words) {
    const Way* way = nullptr;
    for (size_t i = 0; i < kWayCount; ++i)
        if (std::strcmp(words[0], kWays[i].id) == 0)
            way = &kWays[i];
    const bool whole = std::strcmp(words[1], "whole") == 0;
    const size_t bytes = number(words[2], kHugePage, SIZE_MAX) / kHugePage * kHugePage;
    const size_t threads = number(words[3], 1, kMostThreads);
    if (way == nullptr || (!whole && std::strcmp(words[1], "sparse") != 0) || bytes == 0 || threads == 0)
        return std::fputs(kUsage, stderr), 2;
    take_sample(*way, whole ? Touch::kWhole : Touch::kSparse, bytes, threads);
    return 0;
}

} // namespace

int main(int count, char** words) {
    int code = 2;
    if (count == 3 && std::strcmp(words[1], "list") == 0)
        code = list(words[2]);
    else if (count == 6 && std::strcmp(words[1], "sample") == 0)
        code = sample(words + 2);
    else
        std::fputs(kUsage, stderr);
    return std::fflush(stdout) == 0 ? code : 1;
}
