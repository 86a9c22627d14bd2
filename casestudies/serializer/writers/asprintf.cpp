// asprintf: the C library allocates a block for each text, and the caller frees it.
#include "writers.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

[[gnu::format(printf, 2, 3)]] void print(Slice& slice, const char* pattern, ...) {
    std::va_list arguments;
    va_start(arguments, pattern);
    char* text;
    const int length = vasprintf(&text, pattern, arguments);
    va_end(arguments);
    if (length < 0) throw std::bad_alloc();
    slice.append({text, static_cast<std::size_t>(length)});
    std::free(text);
}

} // namespace

void write_with_asprintf(const Object& object, Slice& slice) {
    print(slice, "%u", object.id);
    print(slice, " %s", object.kind);
    print(slice, " x=%.3f", object.x);
    print(slice, " y=%.3f", object.y);
    print(slice, " z=%.3f", object.z);
    print(slice, " flags=%08x\n", object.flags);
}
