// The entries, each with four strings of its own.
#pragma once

#include "entry.hpp"

#include <string>
#include <vector>

class Entries {
public:
    void reserve(std::size_t count) { _entries.reserve(count); }
    void add(const Entry<char16_t>& entry) {
        _entries.push_back(Strings(entry));
    }

    std::size_t size() const { return _entries.size(); }
    Entry<char16_t> operator[](std::size_t i) const {
        const Strings& entry = _entries[i];
        return {entry.traditional, entry.simplified, entry.pinyin, entry.senses};
    }

private:
    struct Strings {
        explicit Strings(const Entry<char16_t>& entry)
            : traditional(entry.traditional), simplified(entry.simplified), pinyin(entry.pinyin), senses(entry.senses) {}
        Strings(const Strings&) = default; // and no move: C++ had none when this was written

        std::u16string traditional, simplified, pinyin, senses;
    };
    std::vector<Strings> _entries;
};
