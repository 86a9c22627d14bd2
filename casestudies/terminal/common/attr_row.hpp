// The attributes of one row, as runs of cells that look the same. Most rows have a single run for all their life.
//
// Invariant: the lengths of the runs add up to the row's width, and no two neighbours are equal.
#pragma once

#include "runs.hpp"

#include <cstdint>

class AttrRow {
public:
    AttrRow(std::uint16_t width, TextAttribute attribute) : _runs(1, TextAttributeRun{width, attribute}) {}

    // One run again, over the whole width.
    void reset(TextAttribute attribute);

    // Draws the cells from `column` to the end of the row with `attribute`: a row is written from left to right, and what
    // stands right of the cursor comes next.
    void set_to_end(std::uint16_t column, TextAttribute attribute);

    const Runs& runs() const { return _runs; }

private:
    Runs _runs;
};
