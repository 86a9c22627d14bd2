// A text in UTF-16, converted from UTF-8 at once.
#pragma once

#include "utf8.hpp"

#include <bit>
#include <emmintrin.h> // every x86-64 has SSE2
#include <memtoll/region.hpp>
#include <string_view>
#include <vector>

class Utf16Text {
public:
    // What is no UTF-8 becomes U+FFFD, a byte at a time.
    explicit Utf16Text(std::string_view bytes)
        : _memory(bytes.size() * sizeof(char16_t), memtoll::pages::huge),
          _units(reinterpret_cast<char16_t*>(_memory.data())) {
        _memory.commit(0, _memory.size());
        const char *from = bytes.data(), *const end = from + bytes.size();
        char16_t* to = _units;
        while (from < end) {
            if (end - from >= 16) {
                const int ascii = widen_ascii(from, to);
                from += ascii;
                to += ascii;
                if (ascii == 16) continue;
            }
            do {
                const Decoded decoded = decode(from, end);
                if (decoded.bytes == 0) _invalid.push_back(static_cast<std::size_t>(to - _units));
                to = encode(decoded.bytes == 0 ? 0xfffd : decoded.character, to);
                from += decoded.bytes == 0 ? 1 : decoded.bytes;
            } while (from < end && *from < 0);
        }
        _size = static_cast<std::size_t>(to - _units);
    }

    std::u16string_view text() const { return {_units, _size}; }
    // Where U+FFFD stands for something invalid, in rising order.
    const std::vector<std::size_t>& invalid() const { return _invalid; }

private:
    // Writes the sixteen bytes at `from` as units and returns how many come before the first that is not ASCII.
    static int widen_ascii(const char* from, char16_t* to) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)), zero = _mm_setzero_si128();
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm_unpacklo_epi8(bytes, zero));
        _mm_storeu_si128(reinterpret_cast<__m128i*>(to + 8), _mm_unpackhi_epi8(bytes, zero));
        return std::countr_zero(static_cast<unsigned>(_mm_movemask_epi8(bytes)) | 0x10000u);
    }

    memtoll::region _memory;
    char16_t* _units; // never more of them than bytes
    std::size_t _size = 0;
    std::vector<std::size_t> _invalid;
};
