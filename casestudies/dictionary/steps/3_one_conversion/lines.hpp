// The lines of a mapped file that was converted to UTF-16 as a whole.
#pragma once

#include "line.hpp"
#include "mapped_file.hpp"
#include "utf16.hpp"

class Lines {
public:
    using Char = char16_t;

    explicit Lines(const char* path) : _text(without_mark(MappedFile(path).text())), _rest(_text.text()) {}

    // About as many lines: they have 79 bytes on average.
    std::size_t expected() const { return _rest.size() / 64; }

    bool next(Line<char16_t>& line) {
        if (_rest.empty()) return false;
        line.text = take_line(_rest);
        const auto end = static_cast<std::size_t>(_rest.data() - _text.text().data());
        line.is_valid = true;
        for (; _next_invalid < _text.invalid().size() && _text.invalid()[_next_invalid] < end; ++_next_invalid)
            line.is_valid = false;
        return true;
    }

private:
    static std::string_view without_mark(std::string_view text) {
        return text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
    }

    Utf16Text _text;
    std::u16string_view _rest;
    std::size_t _next_invalid = 0;
};
