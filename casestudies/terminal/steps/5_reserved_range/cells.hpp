// Where a row keeps its characters: behind itself. Whoever makes a row provides memory for them, too.
#pragma once

#include "char_row_cell.hpp"

#include <cstddef>
#include <memory>

class Cells { // the last part of a row
public:
    explicit Cells(std::size_t size) : _size(size) { std::uninitialized_fill_n(begin(), size, CharRowCell{}); }
    Cells(const Cells&) = delete;
    Cells& operator=(const Cells&) = delete;

    CharRowCell* begin() { return reinterpret_cast<CharRowCell*>(this + 1); }
    CharRowCell* end() { return begin() + _size; }
    const CharRowCell* begin() const { return reinterpret_cast<const CharRowCell*>(this + 1); }
    const CharRowCell* end() const { return begin() + _size; }
    CharRowCell& operator[](std::size_t column) { return begin()[column]; }

private:
    std::size_t _size;
};
