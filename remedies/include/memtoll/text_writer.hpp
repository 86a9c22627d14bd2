// Numbers and text to a fixed buffer, with std::to_chars: never allocates, takes no lock, knows no locale, throws nothing.
//
//     char buffer[64];
//     memtoll::text_writer out(buffer);
//     out.append("x=").append(1.25, std::chars_format::fixed, 3).append(" flags=").append_padded(flags, 16, 8);
//     if (out.truncated()) ...;                       // out.wanted() characters were wanted
//     send(out.text());
//
// What does not fit is left out: text() is the longest beginning of the whole text that fits, to the byte (which may be in
// the middle of a character of UTF-8). There is no zero at the end, unless you append it.
//
// Complexity: linear in what is appended. Thread safety: none is needed, a writer shares nothing. README.md has the
// measured gain; format.hpp has the format strings of {fmt}.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>

namespace memtoll {

namespace detail {

template <class T>
inline constexpr bool is_number = std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char> &&
#ifdef __cpp_char8_t
                                  !std::is_same_v<T, char8_t> &&
#endif
                                  !std::is_same_v<T, wchar_t> && !std::is_same_v<T, char16_t> && !std::is_same_v<T, char32_t>;

// Digits after the point: no double has more of them.
inline constexpr int kMostPrecision = 1074;

// Room for any double in any form: a sign, 309 digits, a point, the digits after it, and an exponent.
struct real_text {
    char characters[1 + 309 + 1 + kMostPrecision + 5];

    // `form`: what std::to_chars takes behind the value.
    template <class Real, class... Form> std::string_view of(Real value, Form... form) noexcept {
        const std::to_chars_result end = std::to_chars(characters, characters + sizeof characters, value, form...);
        return {characters, static_cast<std::size_t>(end.ptr - characters)};
    }
};

} // namespace detail

// A copy goes on by itself in the same buffer.
class text_writer {
public:
    // Writes to `size` bytes at `buffer`, or to an array. They must live as long as the writer and its text().
    text_writer(char* buffer, std::size_t size) noexcept : buffer_(buffer), size_(size) {}
    template <std::size_t Size> explicit text_writer(char (&buffer)[Size]) noexcept : text_writer(buffer, Size) {}

    // Text, or one character.
    text_writer& append(std::string_view text) noexcept {
        const std::size_t fitting = std::min(text.size(), room());
        if (fitting > 0) std::memcpy(position(), text.data(), fitting);
        wanted_ += text.size();
        return *this;
    }
    // Text up to its zero; "(null)" for a null pointer.
    text_writer& append(const char* text) noexcept { return append(std::string_view(text ? text : "(null)")); }
    text_writer& append(char character) noexcept { return append(std::string_view(&character, 1)); }

    // A whole number; `base` is 2 to 36.
    template <class Number, std::enable_if_t<detail::is_number<Number>, int> = 0>
    text_writer& append(Number value, int base = 10) noexcept {
        if (write(value, base)) return *this;
        char digits[8 * sizeof value + 1];
        return append({digits, static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, value, base).ptr - digits)});
    }

    // A whole number with zeros in front until it has `width` characters, the sign included.
    template <class Number, std::enable_if_t<detail::is_number<Number>, int> = 0>
    text_writer& append_padded(Number value, int base, std::size_t width) noexcept {
        char text[8 * sizeof value + 1];
        const auto length = static_cast<std::size_t>(std::to_chars(text, text + sizeof text, value, base).ptr - text);
        const std::size_t sign = text[0] == '-';
        append({text, sign});
        for (std::size_t i = length; i < width; ++i) append('0');
        return append({text + sign, length - sign});
    }

    // The shortest text that reads back as the same float or double.
    template <class Real, std::enable_if_t<std::is_same_v<Real, double> || std::is_same_v<Real, float>, int> = 0>
    text_writer& append(Real value) noexcept {
        return append_real(value);
    }
    // Rounded to `precision` digits after the point (significant digits with std::chars_format::general), 0 to 1,074; a
    // precision beyond counts as 1,074.
    template <class Real, std::enable_if_t<std::is_same_v<Real, double> || std::is_same_v<Real, float>, int> = 0>
    text_writer& append(Real value, std::chars_format form, int precision) noexcept {
        return append_real(value, form, std::clamp(precision, 0, detail::kMostPrecision));
    }

    // None is a number: say which text is wanted.
    text_writer& append(bool) = delete;
    text_writer& append(std::nullptr_t) = delete;
    text_writer& append(long double) = delete; // std::to_chars may allocate for it

    // What was written, and how much would have been, had the buffer been large enough.
    std::string_view text() const noexcept { return {buffer_, std::min(wanted_, size_)}; }
    std::size_t wanted() const noexcept { return wanted_; }
    bool truncated() const noexcept { return wanted_ > size_; }

    // For those who write by themselves: up to room() characters at position(), then advance() by as many as were wanted.
    char* position() const noexcept { return buffer_ + std::min(wanted_, size_); }
    std::size_t room() const noexcept { return size_ - std::min(wanted_, size_); }
    void advance(std::size_t wanted) noexcept { wanted_ += wanted; }

    // Starts anew at the beginning of the buffer.
    void clear() noexcept { wanted_ = 0; }

private:
    // Straight to the buffer. False, and nothing is appended, when there is not enough room.
    template <class... Arguments> bool write(Arguments... arguments) noexcept {
        char* const begin = position();
        const std::to_chars_result end = std::to_chars(begin, begin + room(), arguments...);
        if (end.ec != std::errc()) return false;
        wanted_ += static_cast<std::size_t>(end.ptr - begin);
        return true;
    }

    template <class Real, class... Form> text_writer& append_real(Real value, Form... form) noexcept {
        if (write(value, form...)) return *this;
        detail::real_text text;
        return append(text.of(value, form...));
    }

    char* buffer_;
    std::size_t size_;
    std::size_t wanted_ = 0; // text() is the first min(wanted_, size_) characters of the buffer
};

} // namespace memtoll
