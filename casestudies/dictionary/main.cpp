// Loads a dictionary and destroys it. Standard output has what was loaded, standard error what it cost.
#include "cost.hpp"
#include "dictionary.hpp"
#include "memtoll.h"
#include "utf8.hpp"

#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <string_view>

namespace {

// FNV-1a of the units of UTF-16, the same for all ways to keep a dictionary.
class Checksum {
public:
    void add(std::u16string_view text) {
        for (const char16_t unit : text) add(unit);
        add(u'\n');
    }
    void add(std::string_view text) {
        for (const char *at = text.data(), *end = at + text.size(); at < end;) {
            const Decoded decoded = decode(at, end);
            char16_t units[2];
            for (const char16_t* unit = units; unit < encode(decoded.character, units); ++unit) add(*unit);
            at += decoded.bytes;
        }
        add(u'\n');
    }
    unsigned long long value() const { return _sum; }

private:
    void add(char16_t unit) { _sum = (_sum ^ unit) * 0x100000001b3; }

    std::uint64_t _sum = 0xcbf29ce484222325;
};

unsigned long long checksum_of(const Entries& entries) {
    Checksum sum;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const auto entry = entries[i];
        for (const auto& text : {entry.traditional, entry.simplified, entry.pinyin, entry.senses}) sum.add(text);
    }
    return sum.value();
}

void load_and_destroy(const char* path) {
    std::optional<Dictionary> dictionary;
    memtoll_region_begin("load");
    const Cost loading;
    dictionary.emplace(path);
    const double load_ms = loading.cpu_ms();
    const long load_faults = loading.minor_faults();
    memtoll_region_end("load");
    const Skipped skipped = dictionary->skipped();
    std::printf("%zu entries, checksum %016llx; %zu comments and empty lines, %zu malformed lines\n",
                dictionary->entries().size(), checksum_of(dictionary->entries()), skipped.comments, skipped.malformed);
    memtoll_region_begin("destroy");
    const Cost destroying;
    dictionary.reset();
    const double destroy_ms = destroying.cpu_ms();
    memtoll_region_end("destroy");
    std::fprintf(stderr, "loading %.3f ms CPU, %ld minor faults; destroying %.3f ms CPU\n", load_ms, load_faults,
                 destroy_ms);
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 3 || std::string_view(argv[1]) != "--file") {
        std::fprintf(stderr, "usage: %s --file FILE\n", argv[0]);
        return 2;
    }
    try {
        load_and_destroy(argv[2]);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
