// The entries, whose strings never change and die together: an address in a pool and a length are enough for each.
#pragma once

#include "entry.hpp"

#include <cstdint>
#include <memtoll/string_pool.hpp>
#include <vector>

class Entries {
public:
    void reserve(std::size_t count) { _entries.reserve(count); }
    void add(const Entry<char16_t>& entry) {
        const auto length = [](std::u16string_view text) { return static_cast<std::uint16_t>(text.size()); };
        _entries.push_back({copy(entry.traditional), copy(entry.simplified), copy(entry.pinyin), copy(entry.senses),
                            length(entry.traditional), length(entry.simplified), length(entry.pinyin),
                            length(entry.senses)});
    }

    std::size_t size() const { return _entries.size(); }
    Entry<char16_t> operator[](std::size_t i) const {
        const Strings& entry = _entries[i];
        return {{entry.traditional, entry.traditional_length},
                {entry.simplified, entry.simplified_length},
                {entry.pinyin, entry.pinyin_length},
                {entry.senses, entry.senses_length}};
    }

private:
    const char16_t* copy(std::u16string_view text) { return _pool.add(text).data(); }

    struct Strings {
        const char16_t *traditional, *simplified, *pinyin, *senses;
        std::uint16_t traditional_length, simplified_length, pinyin_length, senses_length;
    };
    memtoll::u16string_pool _pool{memtoll::pages::huge};
    std::vector<Strings> _entries;
};
