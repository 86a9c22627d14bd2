// The lines of a file, read from a stream and converted to UTF-16 one by one.
#pragma once

#include "from_utf8.hpp"
#include "line.hpp"

#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>

class Lines {
public:
    using Char = char16_t;

    explicit Lines(const char* path) : _stream(path, std::ios::binary) {
        if (!_stream) fail();
        char mark[kByteOrderMark.size()];
        if (_stream.read(mark, sizeof mark) && std::string_view(mark, sizeof mark) == kByteOrderMark) return;
        _stream.clear();
        _stream.seekg(0);
    }

    bool next(Line<char16_t>& line) {
        std::string bytes;
        if (!std::getline(_stream, bytes)) {
            if (_stream.bad()) fail();
            return false;
        }
        if (bytes.ends_with('\r')) bytes.pop_back();
        line.is_valid = from_utf8(bytes, _text);
        line.text = _text;
        return true;
    }

private:
    [[noreturn]] static void fail() { throw std::system_error(errno, std::generic_category(), "reading the dictionary"); }

    std::ifstream _stream;
    std::u16string _text;
};
