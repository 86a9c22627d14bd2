#include "text_buffer.hpp"

namespace {

// Roughly the East Asian wide ranges: good enough to have characters of two columns in the buffer.
bool is_wide(char32_t c) {
    return (c >= 0x1100 && c < 0x1160) || (c >= 0x2e80 && c < 0xd7a4) || (c >= 0xff00 && c < 0xff61);
}

constexpr char32_t kReplacement = 0xfffd;
constexpr std::uint16_t kTabWidth = 8;

} // namespace

TextBuffer::TextBuffer(std::uint16_t height, std::uint16_t width, TextAttribute attribute)
    : _rows(make_rows(height, width, attribute)), _width(width), _attribute(attribute) {}

void TextBuffer::write(char32_t character) {
    switch (character) {
    case U'\n': new_line(false); return;
    case U'\r': _cursor_column = 0; return;
    case U'\t':
        do write(U' ');
        while (_cursor_column % kTabWidth != 0 && _cursor_column < _width);
        return;
    default: break;
    }
    if (character < U' ') return;
    if (character > 0xffff) character = kReplacement;
    const bool wide = is_wide(character);
    if (_cursor_column + (wide ? 2 : 1) > _width) new_line(true);
    put(static_cast<char16_t>(character), false);
    if (wide) put(static_cast<char16_t>(character), true);
}

void TextBuffer::put(char16_t glyph, bool is_trailing_half) {
    ROW& row = cursor_row();
    row.characters()[_cursor_column] = {glyph, is_trailing_half};
    row.attributes().set_to_end(_cursor_column, _attribute);
    ++_cursor_column;
}

void TextBuffer::new_line(bool wrapped) {
    cursor_row().set_wrapped(wrapped);
    _cursor_column = 0;
    if (_cursor_row + 1 < _rows.size()) {
        ++_cursor_row;
        return;
    }
    _first_row = (_first_row + 1) % _rows.size();
    cursor_row().reset(_attribute);
    ++_rows_scrolled;
}

std::uint64_t TextBuffer::checksum() const {
    std::uint64_t sum = 0xcbf29ce484222325; // FNV-1a, over values instead of bytes
    auto add = [&](std::uint64_t value) { sum = (sum ^ value) * 0x100000001b3; };
    for (std::size_t i = 0; i < _rows.size(); ++i) {
        const ROW& row = _rows[(_first_row + i) % _rows.size()];
        add(row.was_wrapped());
        for (const CharRowCell& cell : row.characters().cells()) add(cell.glyph | cell.is_trailing_half << 16);
        for (const TextAttributeRun& run : row.attributes().runs()) {
            add(run.length);
            add(run.attribute.foreground | std::uint64_t{run.attribute.background} << 32);
            add(run.attribute.style);
        }
    }
    return sum;
}
