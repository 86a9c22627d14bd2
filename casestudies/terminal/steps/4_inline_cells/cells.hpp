// Where a row keeps its characters: in the row itself, unless the window is wider than 120 columns.
#pragma once

#include "char_row_cell.hpp"

#include <boost/container/small_vector.hpp>

using Cells = boost::container::small_vector<CharRowCell, 120>;
