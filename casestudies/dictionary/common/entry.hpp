// An entry of the dictionary as it stands in a line, and how it is found there:
//
//     Traditional Simplified [pin1 yin1] /sense/another sense/
#pragma once

#include <cstddef>
#include <string_view>

// UTF-16 (char16_t) where text is converted, UTF-8 (char) where it is not.
template <class Char> struct Entry {
    std::basic_string_view<Char> traditional;
    std::basic_string_view<Char> simplified;
    std::basic_string_view<Char> pinyin;
    std::basic_string_view<Char> senses; // between the first slash and the last
};

constexpr std::size_t kShortestEntry = 10; // bytes: a b [] /c/

// Whether `line`, without its end, is an entry; if so, `entry` refers to its parts.
template <class Char> bool parse(std::basic_string_view<Char> line, Entry<Char>& entry) {
    constexpr auto kNone = std::basic_string_view<Char>::npos;
    const std::size_t traditional = line.find(Char{' '});
    if (traditional == 0 || traditional == kNone) return false;
    const std::size_t simplified = line.find(Char{' '}, traditional + 1);
    if (simplified == traditional + 1 || simplified == kNone) return false;
    if (line.size() < simplified + 2 || line[simplified + 1] != Char{'['}) return false;
    const std::size_t pinyin = line.find(Char{']'}, simplified + 2);
    if (pinyin == kNone || line.size() < pinyin + 5) return false; // at least "] /x/"
    if (line[pinyin + 1] != Char{' '} || line[pinyin + 2] != Char{'/'} || line.back() != Char{'/'}) return false;
    entry.traditional = line.substr(0, traditional);
    entry.simplified = line.substr(traditional + 1, simplified - traditional - 1);
    entry.pinyin = line.substr(simplified + 2, pinyin - simplified - 2);
    entry.senses = line.substr(pinyin + 3, line.size() - pinyin - 4);
    return true;
}
