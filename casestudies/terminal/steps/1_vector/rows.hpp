// Where a text buffer keeps its rows.
#pragma once

#include "row.hpp"

#include <vector>

using Rows = std::vector<ROW>;

inline Rows make_rows(std::uint16_t height, std::uint16_t width, TextAttribute attribute) {
    Rows rows;
    for (std::uint16_t id = 0; id < height; ++id) rows.emplace_back(id, width, attribute);
    return rows;
}
