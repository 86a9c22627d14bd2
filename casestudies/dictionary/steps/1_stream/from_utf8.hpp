// A line of UTF-8 in UTF-16, with the standard library's converter.
#pragma once

#include <algorithm>
#include <codecvt>
#include <locale>
#include <stdexcept>
#include <string>
#include <string_view>

// Surrogates are no UTF-8, although the converter of libstdc++ before version 13 takes them.
inline bool has_surrogates(std::string_view bytes) {
    const auto next_is_high = [](char byte, char next) { return byte == '\xed' && static_cast<unsigned char>(next) >= 0xa0; };
    return std::adjacent_find(bytes.begin(), bytes.end(), next_is_high) != bytes.end();
}

// Whether it is valid; if so, `text` is what it says.
inline bool from_utf8(std::string_view bytes, std::u16string& text) {
    try {
        std::wstring_convert<std::codecvt_utf8_utf16<char16_t>, char16_t> converter;
        text = converter.from_bytes(bytes.data(), bytes.data() + bytes.size());
        // It leaves out without a word what is cut short at the end.
        return converter.converted() == bytes.size() && !has_surrogates(bytes);
    } catch (const std::range_error&) {
        return false;
    }
}
