// The text of a console: the visible screen and the history above it, as a ring of rows. All rows exist from the start,
// so that scrolling is nothing but moving the first row on and clearing it.
#pragma once

#include "rows.hpp"

#include <cstdint>

class TextBuffer {
public:
    TextBuffer(std::uint16_t height, std::uint16_t width, TextAttribute attribute);

    void set_attribute(TextAttribute attribute) { _attribute = attribute; }

    // Writes one character at the cursor. Wraps at the right edge and scrolls at the bottom.
    void write(char32_t character);

    // A number that depends on every cell, attribute and wrap mark, from the oldest row to the newest.
    std::uint64_t checksum() const;

    std::uint64_t rows_scrolled() const { return _rows_scrolled; }

private:
    ROW& cursor_row() { return _rows[(_first_row + _cursor_row) % _rows.size()]; }
    void new_line(bool wrapped);
    void put(char16_t glyph, bool is_trailing_half);

    Rows _rows;
    std::uint16_t _width;
    std::size_t _first_row = 0; // index of the topmost row
    std::size_t _cursor_row = 0;
    std::uint16_t _cursor_column = 0;
    std::uint64_t _rows_scrolled = 0;
    TextAttribute _attribute;
};
