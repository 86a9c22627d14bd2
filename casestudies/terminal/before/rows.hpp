// Where a text buffer keeps its rows.
#pragma once

#include "row.hpp"

#include <boost/container/deque.hpp>

// The original's deque keeps one element of this size in each block; libstdc++'s would keep several.
using OneRowPerBlock = boost::container::deque_options<boost::container::block_size<1u>>::type;
using Rows = boost::container::deque<ROW, void, OneRowPerBlock>;

inline Rows make_rows(std::uint16_t height, std::uint16_t width, TextAttribute attribute) {
    Rows rows;
    for (std::uint16_t id = 0; id < height; ++id) rows.emplace_back(id, width, attribute);
    return rows;
}
