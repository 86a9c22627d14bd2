// The characters of one row, one entry for each column.
#pragma once

#include "cells.hpp"

#include <algorithm>
#include <cstddef>

class CharRow {
public:
    explicit CharRow(std::size_t width) : _cells(width) {}

    void clear() { std::fill(_cells.begin(), _cells.end(), CharRowCell{}); }

    CharRowCell& operator[](std::size_t column) { return _cells[column]; }
    const Cells& cells() const { return _cells; }

private:
    Cells _cells;
};
