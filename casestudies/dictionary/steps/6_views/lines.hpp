// The lines of a mapped file, as they are.
#pragma once

#include "entry.hpp"
#include "line.hpp"
#include "mapped_file.hpp"
#include "utf8.hpp"

#include <simdjson.h>
#include <vector>

class Lines {
public:
    using Char = char;

    explicit Lines(const char* path) : _file(path), _rest(_file.text()) {
        if (!simdjson::validate_utf8(_rest)) find_invalid(); // as in most files there is nothing to find
        if (_rest.starts_with(kByteOrderMark)) _rest.remove_prefix(kByteOrderMark.size());
    }

    std::size_t most_entries() const { return _file.text().size() / kShortestEntry; }

    bool next(Line<char>& line) {
        if (_rest.empty()) return false;
        line.text = take_line(_rest);
        line.is_valid = true;
        for (; _next_invalid < _invalid.size() && _invalid[_next_invalid] < _rest.data(); ++_next_invalid)
            line.is_valid = false;
        return true;
    }

private:
    void find_invalid() {
        for (const char *at = _rest.data(), *const end = at + _rest.size(); at < end;) {
            const unsigned bytes = decode(at, end).bytes;
            if (bytes == 0) _invalid.push_back(at);
            at += bytes == 0 ? 1 : bytes;
        }
    }

    MappedFile _file;
    std::string_view _rest;
    std::vector<const char*> _invalid; // bytes that are no UTF-8, in rising order
    std::size_t _next_invalid = 0;
};
