#include "attr_row.hpp"

void AttrRow::reset(TextAttribute attribute) {
    std::uint16_t width = 0;
    for (const TextAttributeRun& run : _runs) width = static_cast<std::uint16_t>(width + run.length);
    _runs.resize(1);
    _runs.front() = {width, attribute};
}

void AttrRow::set_to_end(std::uint16_t column, TextAttribute attribute) {
    std::uint16_t width = 0, start_of_last = 0;
    std::size_t kept = 0; // runs that begin before `column`
    for (const TextAttributeRun& run : _runs) {
        if (width < column) {
            start_of_last = width;
            ++kept;
        }
        width = static_cast<std::uint16_t>(width + run.length);
    }
    if (column >= width) return;
    if (kept > 0 && _runs[kept - 1].attribute == attribute) { // the run before grows
        _runs[kept - 1].length = static_cast<std::uint16_t>(width - start_of_last);
        _runs.resize(kept);
        return;
    }
    if (kept > 0) _runs[kept - 1].length = static_cast<std::uint16_t>(column - start_of_last);
    _runs.resize(kept);
    _runs.push_back({static_cast<std::uint16_t>(width - column), attribute});
}
