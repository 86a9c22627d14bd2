// std::to_chars, straight to the slice: no allocation, no lock, no locale.
#include "writers.hpp"

#include <charconv>

namespace {

template <class... Format> void number(Slice& slice, Format... value_and_format) {
    const auto [end, error] = std::to_chars(slice.position(), slice.end(), value_and_format...);
    if (error != std::errc()) Slice::overflow();
    slice.advance_to(end);
}

void coordinate(Slice& slice, std::string_view name, double value) {
    slice.append(name);
    number(slice, value, std::chars_format::fixed, 3);
}

void eight_digits(Slice& slice, std::uint32_t value) {
    char digits[8];
    for (std::size_t i = 8; i-- > 0; value >>= 4) digits[i] = "0123456789abcdef"[value & 15];
    slice.append({digits, sizeof digits});
}

} // namespace

void write_with_to_chars(const Object& object, Slice& slice) {
    number(slice, object.id);
    slice.append(" ");
    slice.append(object.kind);
    coordinate(slice, " x=", object.x);
    coordinate(slice, " y=", object.y);
    coordinate(slice, " z=", object.z);
    slice.append(" flags=");
    eight_digits(slice, object.flags);
    slice.append("\n");
}
