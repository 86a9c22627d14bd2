// UTF-8 as the standard has it: no overlong forms, no surrogates, nothing above U+10FFFF.
#pragma once

#include <cstddef>

// A character and how many bytes it has; 0 if there is no valid one.
struct Decoded {
    char32_t character;
    unsigned bytes;
};

// The character at `text`, which is before `end`. Inline: what it returns is taken apart at once.
[[gnu::always_inline]] inline Decoded decode(const char* text, const char* end) {
    const auto byte = [&](int i) { return static_cast<unsigned char>(text[i]); };
    const auto follows = [&](int i) { return (byte(i) & 0xc0) == 0x80; };
    const auto bits = [&](int i) { return static_cast<char32_t>(byte(i) & 0x3f); };
    const std::ptrdiff_t left = end - text;
    const char32_t first = byte(0);
    if (first < 0x80) return {first, 1};
    if ((first & 0xf0) == 0xe0 && left >= 3 && follows(1) && follows(2)) { // Chinese
        const char32_t c = (first & 0x0f) << 12 | bits(1) << 6 | bits(2);
        return {c, c >= 0x800 && (c & 0xf800) != 0xd800 ? 3u : 0u};
    }
    if ((first & 0xe0) == 0xc0 && left >= 2 && follows(1)) {
        const char32_t c = (first & 0x1f) << 6 | bits(1);
        return {c, c >= 0x80 ? 2u : 0u};
    }
    if ((first & 0xf8) == 0xf0 && left >= 4 && follows(1) && follows(2) && follows(3)) {
        const char32_t c = (first & 0x07) << 18 | bits(1) << 12 | bits(2) << 6 | bits(3);
        return {c, c >= 0x10000 && c < 0x110000 ? 4u : 0u};
    }
    return {0, 0};
}

// Writes a character in UTF-16 and returns the place behind it.
inline char16_t* encode(char32_t character, char16_t* to) {
    if (character >= 0x10000) {
        *to++ = static_cast<char16_t>(0xd7c0 + (character >> 10));
        character = 0xdc00 | (character & 0x3ff);
    }
    *to++ = static_cast<char16_t>(character);
    return to;
}
