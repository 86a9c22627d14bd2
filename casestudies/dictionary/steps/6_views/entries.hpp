// The entries, each of them the place of its line in the mapped file and the lengths of its parts.
#pragma once

#include "entry.hpp"

#include <cstdint>
#include <memtoll/reserved_vector.hpp>

class Entries {
public:
    // Reserves addresses for `most` entries. Memory is taken as they come, and they never move.
    explicit Entries(std::size_t most) : _entries(most, memtoll::pages::huge) {}

    void add(const Entry<char>& entry) {
        const auto length = [](std::string_view text) { return static_cast<std::uint16_t>(text.size()); };
        _entries.push_back({entry.traditional.data(), length(entry.traditional), length(entry.simplified),
                            length(entry.pinyin), length(entry.senses)});
    }

    std::size_t size() const { return _entries.size(); }
    Entry<char> operator[](std::size_t i) const {
        const Place& place = _entries[i];
        const char* const simplified = place.line + place.traditional + 1;
        const char* const pinyin = simplified + place.simplified + 2;
        const char* const senses = pinyin + place.pinyin + 3;
        return {{place.line, place.traditional},
                {simplified, place.simplified},
                {pinyin, place.pinyin},
                {senses, place.senses}};
    }

private:
    struct Place {
        const char* line;
        std::uint16_t traditional, simplified, pinyin, senses; // bytes
    };
    memtoll::reserved_vector<Place> _entries;
};
