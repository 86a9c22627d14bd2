#include "row.hpp"

// Looks like nothing, and is inlined down to two calls of operator new: one for the vector with the single run of
// attributes, one for the vector with the cells.
ROW::ROW(std::uint16_t id, std::uint16_t width, TextAttribute attribute)
    : _id(id), _attributes(width, attribute), _characters(width) {}

void ROW::reset(TextAttribute attribute) {
    _was_wrapped = false;
    _attributes.reset(attribute);
    _characters.clear();
}
