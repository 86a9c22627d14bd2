// The lines of a mapped file, converted to UTF-16 one by one.
#pragma once

#include "from_utf8.hpp"
#include "line.hpp"
#include "mapped_file.hpp"

#include <string>

class Lines {
public:
    using Char = char16_t;

    explicit Lines(const char* path) : _file(path), _rest(_file.text()) {
        if (_rest.starts_with(kByteOrderMark)) _rest.remove_prefix(kByteOrderMark.size());
    }

    // About as many lines: they have 79 bytes on average.
    std::size_t expected() const { return _rest.size() / 64; }

    bool next(Line<char16_t>& line) {
        if (_rest.empty()) return false;
        const std::string_view bytes = take_line(_rest);
        line.is_valid = from_utf8(bytes, _text);
        line.text = _text;
        return true;
    }

private:
    MappedFile _file;
    std::string_view _rest;
    std::u16string _text;
};
