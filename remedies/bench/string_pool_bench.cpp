// A dictionary that is loaded again and again in one process, where an allocator has the memory of the last time, and the
// pool, too, with clear(). And interning.
#include "dictionary.hpp"

#include <memtoll/string_pool.hpp>

#include <benchmark/benchmark.h>

#include <string>
#include <unordered_set>
#include <vector>

namespace {

using namespace dictionary;

template <class Way> void load_again(benchmark::State& state) {
    std::vector<entry> entries(kEntries);
    Way way;
    for (auto _ : state) {
        fill(entries, way);
        way.release(entries);
    }
}

// Each text once: 480,000 words, of which 30,000 are different.
struct set_of_strings {
    std::unordered_set<std::string> set;
    string_view intern(string_view text) { return *set.emplace(text).first; }
};
struct interned {
    memtoll::string_pool pool;
    string_view intern(string_view text) { return pool.intern(text); }
};

template <class Way> void intern(benchmark::State& state) {
    std::vector<std::string> words;
    for (unsigned i = 0; i < 30'000; ++i)
        words.push_back("a word of the text, no. " + std::to_string(i));
    for (auto _ : state) {
        Way way;
        for (size_t i = 0; i < 4 * kEntries; ++i)
            benchmark::DoNotOptimize(way.intern(words[i * 7919 % words.size()]));
    }
}

#define LOAD_AGAIN(WAY) BENCHMARK(load_again<WAY>)->Unit(benchmark::kMillisecond)
LOAD_AGAIN(new_delete);
LOAD_AGAIN(pmr_pool);
LOAD_AGAIN(boost_pool);
LOAD_AGAIN(pmr_monotonic);
LOAD_AGAIN(string_pool_huge_pages);
LOAD_AGAIN(string_pool);

BENCHMARK(intern<set_of_strings>)->Unit(benchmark::kMillisecond);
BENCHMARK(intern<interned>)->Unit(benchmark::kMillisecond);

} // namespace
