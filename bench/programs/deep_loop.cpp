// malloc/free pairs about 23 frames deep, on one of 200 call paths: what every recorder of allocations finds hardest,
// because the whole stack changes each time.
//
//   deep_loop PAIRS [THREADS] [random|inner|flat|sizes] [REGION]
//
// random: a path chosen at random for each pair; only the outermost frames stay. inner: only the four innermost frames
// change. flat: no frames in between. sizes: always the same path, with blocks of 1 to 100,000 bytes, chosen at random. PAIRS
// counts for each thread; events are twice that. REGION: this many pairs at a time are a region of memtoll.h.
#include "memtoll.h"
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr int kPaths = 200;
constexpr int kDeepLevels = 18;
constexpr int kInnerLevels = 4;
constexpr uint64_t kSizes = 100'000;

bool has_random_sizes = false;

[[gnu::noinline]] void pair(size_t size) {
    void* block = malloc(size);
    asm volatile("" : : "r"(block) : "memory"); // or the compiler removes the pair
    free(block);
}

// A frame of path Path with Levels more below it; the barrier keeps it from being a tail call.
template <int Path, int Levels> [[gnu::noinline]] void descend(size_t size) {
    if constexpr (Levels == 0) pair(size);
    else descend<Path, Levels - 1>(size);
    asm volatile("" : : : "memory");
}

using Function = void (*)(size_t);

template <int Levels, int... Paths> const Function* table(std::integer_sequence<int, Paths...>) {
    static constexpr Function functions[] = {descend<Paths, Levels>...};
    return functions;
}

// Frames that stay while the inner ones change.
template <int Levels> [[gnu::noinline]] void outer(const Function* paths, uint64_t pairs, uint64_t seed, uint64_t region) {
    if constexpr (Levels > 0) {
        outer<Levels - 1>(paths, pairs, seed, region);
    } else {
        uint64_t x = seed;
        uint64_t left = region;
        if (region != 0) memtoll_region_begin("batch");
        for (uint64_t i = 0; i < pairs; ++i) {
            if (region != 0 && left-- == 0) {
                memtoll_region_end("batch");
                memtoll_region_begin("batch");
                left = region - 1;
            }
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            const auto path = static_cast<uint32_t>((x >> 32) % kPaths);
            if (has_random_sizes) paths[0](1 + (x >> 32) % kSizes);
            else paths[path](16 + (path % 8) * 24);
        }
        if (region != 0) memtoll_region_end("batch");
    }
    asm volatile("" : : : "memory");
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: deep_loop PAIRS [THREADS] [random|inner|flat|sizes] [REGION]\n");
        return 2;
    }
    const uint64_t pairs = strtoull(argv[1], nullptr, 10);
    const int threads = argc > 2 ? atoi(argv[2]) : 1;
    const char* mode = argc > 3 ? argv[3] : "random";
    has_random_sizes = strcmp(mode, "sizes") == 0;
    const uint64_t region = argc > 4 ? strtoull(argv[4], nullptr, 10) : 0;
    using Sequence = std::make_integer_sequence<int, kPaths>;
    auto run = [&](uint64_t seed) {
        if (strcmp(mode, "flat") == 0 || has_random_sizes) outer<0>(table<0>(Sequence{}), pairs, seed, region);
        else if (strcmp(mode, "inner") == 0) outer<kDeepLevels - kInnerLevels>(table<kInnerLevels>(Sequence{}), pairs, seed, region);
        else outer<0>(table<kDeepLevels>(Sequence{}), pairs, seed, region);
    };
    std::vector<std::thread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(run, 88172645463325252u + static_cast<unsigned>(i));
    run(88172645463325252u);
    for (std::thread& thread : others) thread.join();
}
