// A page's part of the output, which was allocated at once for all pages. Text is appended and never grows beyond it.
#pragma once

#include <cstddef>
#include <cstring>
#include <stdexcept>
#include <string_view>

class Slice {
public:
    Slice(char* begin, std::size_t size) : _begin(begin), _position(begin), _end(begin + size) {}

    void append(std::string_view text) {
        if (text.size() > static_cast<std::size_t>(_end - _position)) overflow();
        std::memcpy(_position, text.data(), text.size());
        _position += text.size();
    }

    // For those who write by themselves: to position() up to end(), then advance_to() where they stopped.
    char* position() const { return _position; }
    char* end() const { return _end; }
    void advance_to(char* position) { _position = position; }

    void clear() { _position = _begin; }
    std::string_view text() const { return {_begin, static_cast<std::size_t>(_position - _begin)}; }

    [[noreturn]] static void overflow() { throw std::length_error("a page's text is longer than its slice"); }

private:
    char* _begin;
    char* _position;
    char* _end;
};
