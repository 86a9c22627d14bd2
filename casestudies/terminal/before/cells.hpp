// Where a row keeps its characters.
#pragma once

#include "char_row_cell.hpp"

#include <vector>

using Cells = std::vector<CharRowCell>;
