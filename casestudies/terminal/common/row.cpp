#include "row.hpp"

#include <cstddef>
#include <cstdio>

// Looks like nothing, and is inlined down to two calls of operator new: one for the vector with the single run of
// attributes, one for the vector with the cells.
ROW::ROW(std::uint16_t id, std::uint16_t width, TextAttribute attribute)
    : _id(id), _attributes(width, attribute), _characters(width) {}

void ROW::reset(TextAttribute attribute) {
    _was_wrapped = false;
    _attributes.reset(attribute);
    _characters.clear();
}

// Not every variant is a standard-layout type, but GCC and Clang give the right offsets for all of these.
#pragma GCC diagnostic ignored "-Winvalid-offsetof"
void ROW::print_layout() {
    std::fprintf(stderr,
                 "a ROW has %zu bytes; its attributes at %zu have %zu bytes, its characters at %zu have %zu bytes\n",
                 sizeof(ROW), offsetof(ROW, _attributes), sizeof _attributes, offsetof(ROW, _characters), sizeof _characters);
}
