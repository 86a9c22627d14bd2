// A dictionary: 120,000 entries of three or four short strings, copied out of lines of text; and the ways to keep them.
#pragma once

#include <memtoll/string_pool.hpp>

#include <benchmark/benchmark.h>
#include <boost/pool/pool.hpp>

#include <array>
#include <cstring>
#include <memory_resource>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace dictionary {

using std::size_t;
using std::string_view;

constexpr size_t kEntries = 120'000;
using entry = std::array<const char*, 4>; // null: none

// Lengths are those of a Chinese dictionary in UTF-8: two headwords of 2 to 4 characters (the second one only where it
// differs), pinyin, and what it means. The text itself is in the processor's cache, as that of a line that was just parsed.
struct dictionary_file {
    std::string text = std::string(std::size_t{32} << 10, 'x');
    std::vector<std::array<unsigned short, 4>> lengths;
    size_t bytes = 0; // of all strings and their zeros

    dictionary_file() {
        std::mt19937 random(1);
        const auto between = [&](unsigned least, unsigned most) {
            return static_cast<unsigned short>(least + random() % (most - least + 1));
        };
        for (size_t i = 0; i < kEntries; ++i) {
            const unsigned short headword = between(2, 4) * 3;
            const unsigned short second = between(0, 1) * headword;
            const unsigned short pinyin = headword / 3 * 5 + between(0, 5);
            lengths.push_back({headword, second, pinyin, between(10, 50)});
            for (const size_t length : lengths.back())
                bytes += length == 0 ? 0 : length + 1;
        }
    }
};

inline const dictionary_file file;

template <class Pool> void fill(std::vector<entry>& entries, Pool& pool) {
    for (size_t i = 0; i < kEntries; ++i) {
        const char* at = file.text.data() + i * 64 % (16 << 10);
        for (size_t k = 0; k < 4; ++k)
            if (const size_t length = file.lengths[i][k]) {
                entries[i][k] = pool.add({at, length}).data();
                at += length;
            }
    }
}

inline string_view copy(void* room, string_view text) {
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
using string_pool = pool_of<memtoll::pages::normal>;
using string_pool_huge_pages = pool_of<memtoll::pages::huge>;

// As many bytes as will be needed in one block: who loads a file knows about how many.
struct pmr_monotonic_reserved {
    std::pmr::monotonic_buffer_resource resource{file.bytes};
    string_view add(string_view text) { return copy(resource.allocate(text.size() + 1, 1), text); }
    void destroy(std::vector<entry>&) { resource.release(); }
};
struct string_pool_reserved : string_pool {
    string_pool_reserved() { pool.reserve(file.bytes); }
};

// The rest of the last huge page goes back when everything is loaded.
struct string_pool_shrunk : string_pool_huge_pages {
    void destroy(std::vector<entry>& entries) {
        pool.shrink_to_fit();
        string_pool_huge_pages::destroy(entries);
    }
};

} // namespace dictionary
