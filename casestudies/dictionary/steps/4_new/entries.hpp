// The entries, whose strings never change: an address and a length are enough for each.
#pragma once

#include "entry.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

class Entries {
public:
    Entries() = default;
    Entries(const Entries&) = delete;
    Entries& operator=(const Entries&) = delete;
    ~Entries() {
        for (const Strings& entry : _entries)
            for (const char16_t* text : {entry.traditional, entry.simplified, entry.pinyin, entry.senses}) delete[] text;
    }

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
    static const char16_t* copy(std::u16string_view text) {
        char16_t* const copied = new char16_t[text.size()];
        std::copy(text.begin(), text.end(), copied);
        return copied;
    }

    struct Strings {
        const char16_t *traditional, *simplified, *pinyin, *senses;
        std::uint16_t traditional_length, simplified_length, pinyin_length, senses_length;
    };
    std::vector<Strings> _entries;
};
