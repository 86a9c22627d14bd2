// The characters of one row, one entry for each column.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

struct CharRowCell {
    char16_t glyph = u' ';
    bool is_trailing_half = false; // the right half of a character that is two columns wide
};

class CharRow {
public:
    explicit CharRow(std::size_t width) : _cells(width) {}

    void clear() { _cells.assign(_cells.size(), CharRowCell{}); }

    CharRowCell& operator[](std::size_t column) { return _cells[column]; }
    const std::vector<CharRowCell>& cells() const { return _cells; }

private:
    std::vector<CharRowCell> _cells;
};
