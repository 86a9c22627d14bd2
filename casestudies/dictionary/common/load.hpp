// Reads lines and keeps those that are entries. The others are skipped and counted.
#pragma once

#include "entry.hpp"
#include "line.hpp"

#include <cstddef>

struct Skipped {
    std::size_t comments = 0; // and empty lines
    std::size_t malformed = 0;
};

// What is longer is no entry. In units of UTF-16, whose UTF-8 is shorter than 65,536 bytes.
constexpr std::size_t kLongestLine = 16384;

inline bool is_short(std::u16string_view line) { return line.size() <= kLongestLine; }
inline bool is_short(std::string_view line) {
    if (line.size() <= kLongestLine) return true; // units are never more than bytes
    std::size_t units = 0;
    for (const char c : line) {
        const auto byte = static_cast<unsigned char>(c);
        units += byte >= 0xf0 ? 2u : (byte & 0xc0) != 0x80 ? 1u : 0u;
    }
    return units <= kLongestLine;
}

template <class Lines, class Entries> Skipped load(Lines& lines, Entries& entries) {
    using Char = typename Lines::Char;
    if constexpr (requires { lines.expected(); }) entries.reserve(lines.expected()); // a stream does not know
    Skipped skipped;
    Line<Char> line;
    Entry<Char> entry;
    while (lines.next(line)) {
        if (!line.is_valid) ++skipped.malformed;
        else if (line.text.empty() || line.text[0] == Char{'#'}) ++skipped.comments;
        else if (is_short(line.text) && parse(line.text, entry)) entries.add(entry);
        else ++skipped.malformed;
    }
    return skipped;
}
