// A dictionary in memory: its file, and where the entries are in it.
#pragma once

#include "entries.hpp"
#include "lines.hpp"
#include "load.hpp"

class Dictionary {
public:
    // Throws std::system_error if the file cannot be read.
    explicit Dictionary(const char* path) : _lines(path), _entries(_lines.most_entries()) {
        _skipped = load(_lines, _entries);
    }

    const Entries& entries() const { return _entries; }
    const Skipped& skipped() const { return _skipped; }

private:
    Lines _lines; // the entries refer to its file
    Entries _entries;
    Skipped _skipped;
};
