// A dictionary in memory.
#pragma once

#include "entries.hpp"
#include "lines.hpp"
#include "load.hpp"

class Dictionary {
public:
    // Throws std::system_error if the file cannot be read.
    explicit Dictionary(const char* path) {
        Lines lines(path);
        _skipped = load(lines, _entries);
    }

    const Entries& entries() const { return _entries; }
    const Skipped& skipped() const { return _skipped; }

private:
    Entries _entries;
    Skipped _skipped;
};
