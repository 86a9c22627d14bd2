// std::to_chars, straight to the slice, through memtoll::text_writer: no allocation, no lock, no locale.
#include "writers.hpp"

#include <memtoll/text_writer.hpp>

void write_with_to_chars(const Object& object, Slice& slice) {
    memtoll::text_writer out(slice.position(), static_cast<std::size_t>(slice.end() - slice.position()));
    const auto coordinate = [&](std::string_view name, double value) {
        out.append(name).append(value, std::chars_format::fixed, 3);
    };
    out.append(object.id).append(' ').append(object.kind);
    coordinate(" x=", object.x);
    coordinate(" y=", object.y);
    coordinate(" z=", object.z);
    out.append(" flags=").append_padded(object.flags, 16, 8).append('\n');
    if (out.truncated()) Slice::overflow();
    slice.advance_to(out.position());
}
