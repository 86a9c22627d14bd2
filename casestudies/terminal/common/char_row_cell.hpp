// What stands in one column.
#pragma once

struct CharRowCell {
    char16_t glyph = u' ';
    bool is_trailing_half = false; // the right half of a character that is two columns wide
};
