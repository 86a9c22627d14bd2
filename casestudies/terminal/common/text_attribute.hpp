// How a cell is drawn, and a run of cells that look the same.
#pragma once

#include <cstdint>

struct TextAttribute {
    std::uint32_t foreground = 0x00c0c0c0;
    std::uint32_t background = 0x00000000;
    std::uint16_t style = 0; // bold, underlined, reversed ...

    friend bool operator==(const TextAttribute&, const TextAttribute&) = default;
};

struct TextAttributeRun {
    std::uint16_t length;
    TextAttribute attribute;
};
