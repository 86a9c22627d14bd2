// A dictionary: 120,000 entries of three or four short strings, copied out of lines of text, and destroyed.
//
// In a process of its own, as a program that loads its dictionary once: CPU time, page faults and all. And again and again
// in one process, where an allocator has the memory of the last time, and the pool, too, with clear().
#include <memtoll/string_pool.hpp>

#include <benchmark/benchmark.h>
#include <boost/pool/pool.hpp>

#include <array>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory_resource>
#include <random>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using std::size_t;
using std::string_view;

constexpr size_t kEntries = 120'000;
using entry = std::array<const char*, 4>; // null: none

// Lengths are those of a Chinese dictionary in UTF-8: two headwords of 2 to 4 characters (the second one only where it
// differs), pinyin, and what it means. The text itself is in the processor's cache, as that of a line that was just parsed.
struct dictionary_file {
    std::string text = std::string(std::size_t{32} << 10, 'x');
    std::vector<std::array<unsigned char, 4>> lengths;

    dictionary_file() {
        std::mt19937 random(1);
        const auto between = [&](unsigned least, unsigned most) { return least + static_cast<unsigned>(random()) % (most - least + 1); };
        for (size_t i = 0; i < kEntries; ++i) {
            const unsigned characters = between(2, 4);
            const unsigned second = between(0, 1) * characters;
            const auto byte = [](unsigned length) { return static_cast<unsigned char>(length); };
            lengths.push_back({byte(characters * 3), byte(second * 3), byte(characters * 5 + between(0, 5)), byte(between(10, 50))});
        }
    }
};

const dictionary_file file;

template <class Pool> void fill(std::vector<entry>& entries, Pool& pool) {
    for (size_t i = 0; i < kEntries; ++i) {
        const char* at = file.text.data() + i * 64 % (16 << 10);
        for (size_t k = 0; k < 4; ++k)
            if (size_t length = file.lengths[i][k]) {
                // g++ must not know that the length is small: it would use `rep movs` for memcpy, twice as slow.
                benchmark::DoNotOptimize(length);
                entries[i][k] = pool.add({at, length}).data();
                at += length;
            }
    }
}

string_view copy(void* room, string_view text) {
    char* const characters = static_cast<char*>(room);
    std::memcpy(characters, text.data(), text.size());
    characters[text.size()] = 0;
    return {characters, text.size()};
}

// The ways. Each has add(), destroy(entries), and release(): everything goes, the pool is used again.
struct new_delete {
    string_view add(string_view text) { return copy(new char[text.size() + 1], text); }
    void destroy(std::vector<entry>& entries) {
        for (entry& each : entries)
            for (const char* const text : each)
                delete[] text;
    }
    void release(std::vector<entry>& entries) { destroy(entries); }
};

template <class Resource> struct pmr_resource {
    Resource resource;
    string_view add(string_view text) { return copy(resource.allocate(text.size() + 1, 1), text); }
    void destroy(std::vector<entry>&) { resource.release(); }
    void release(std::vector<entry>&) { resource.release(); }
};
using pmr_monotonic = pmr_resource<std::pmr::monotonic_buffer_resource>;
using pmr_pool = pmr_resource<std::pmr::unsynchronized_pool_resource>;

struct boost_pool {
    static constexpr size_t kUnit = 8;
    boost::pool<> pool{kUnit, 4096};
    string_view add(string_view text) { return copy(pool.ordered_malloc((text.size() + kUnit) / kUnit), text); }
    void destroy(std::vector<entry>&) { pool.purge_memory(); }
    void release(std::vector<entry>&) { pool.purge_memory(); }
};

template <memtoll::pages kind> struct pool_of {
    memtoll::string_pool pool{kind};
    string_view add(string_view text) { return pool.add(text); }
    void destroy(std::vector<entry>&) { pool.release(); }
    void release(std::vector<entry>&) { pool.clear(); }
};
using string_pool_small_pages = pool_of<memtoll::pages::normal>;
using string_pool = pool_of<memtoll::pages::huge>;

double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// CPU seconds of `work`, in a process of its own.
template <class Work> double in_fresh_process(Work work) {
    static auto* const result =
        static_cast<double*>(mmap(nullptr, sizeof(double), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    const pid_t child = fork();
    if (child == 0) {
        *result = work();
        _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        std::abort();
    return *result;
}

template <class Way> void load_once(benchmark::State& state) {
    for (auto _ : state)
        state.SetIterationTime(in_fresh_process([] {
            std::vector<entry> entries(kEntries);
            const double begin = cpu_seconds();
            {
                Way way;
                fill(entries, way);
                way.destroy(entries);
            }
            return cpu_seconds() - begin;
        }));
}

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

#define LOAD_ONCE(WAY) BENCHMARK(load_once<WAY>)->UseManualTime()->Unit(benchmark::kMillisecond)
LOAD_ONCE(new_delete);
LOAD_ONCE(pmr_pool);
LOAD_ONCE(boost_pool);
LOAD_ONCE(pmr_monotonic);
LOAD_ONCE(string_pool_small_pages);
LOAD_ONCE(string_pool);

#define LOAD_AGAIN(WAY) BENCHMARK(load_again<WAY>)->Unit(benchmark::kMillisecond)
LOAD_AGAIN(new_delete);
LOAD_AGAIN(pmr_pool);
LOAD_AGAIN(boost_pool);
LOAD_AGAIN(pmr_monotonic);
LOAD_AGAIN(string_pool);

BENCHMARK(intern<set_of_strings>)->Unit(benchmark::kMillisecond);
BENCHMARK(intern<interned>)->Unit(benchmark::kMillisecond);

} // namespace
