// A row of the screen or of its history: what its cells hold, and how they look.
#pragma once

#include "attr_row.hpp"
#include "char_row.hpp"

#include <cstdint>

class ROW {
public:
    ROW(std::uint16_t id, std::uint16_t width, TextAttribute attribute);

    // Blank again, to be written anew.
    void reset(TextAttribute attribute);

    std::uint16_t id() const { return _id; }
    bool was_wrapped() const { return _was_wrapped; }
    void set_wrapped(bool wrapped) { _was_wrapped = wrapped; }

    CharRow& characters() { return _characters; }
    const CharRow& characters() const { return _characters; }
    AttrRow& attributes() { return _attributes; }
    const AttrRow& attributes() const { return _attributes; }

    // Its size and where its parts lie, on standard error.
    static void print_layout();

private:
    std::uint16_t _id;
    bool _was_wrapped = false; // its text goes on in the next row
    AttrRow _attributes;
    CharRow _characters;
};
