// A line of the file, without its end (LF or CR LF).
#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

template <class Char> struct Line {
    std::basic_string_view<Char> text;
    bool is_valid = true; // UTF-8; if it is not, the text means nothing
};

// Where the first line ends.
inline std::size_t line_length(std::string_view text) { return text.find('\n'); }
inline std::size_t line_length(std::u16string_view text) {
    // find() would go unit by unit; memchr looks at dozens of bytes at once, and few of its finds are no line ends.
    const char *const begin = reinterpret_cast<const char*>(text.data()), *const end = begin + 2 * text.size();
    const char* at = begin;
    while (const void* const found = std::memchr(at, '\n', static_cast<std::size_t>(end - at))) {
        at = static_cast<const char*>(found);
        if ((at - begin) % 2 == 0 && at[1] == 0) return static_cast<std::size_t>(at - begin) / 2;
        ++at;
    }
    return text.npos;
}

// The next line of `rest`, which it is taken from.
template <class Char> std::basic_string_view<Char> take_line(std::basic_string_view<Char>& rest) {
    const std::size_t end = line_length(rest);
    std::basic_string_view<Char> line = rest.substr(0, end);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
    if (line.ends_with(Char{'\r'})) line.remove_suffix(1);
    return line;
}

// What some editors begin a file of UTF-8 with.
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
