// sprintf as a well-known C runtime has it: text goes to a buffer inside the formatter, and only a text too long for it
// to a block on the heap. The formatter frees that block at its end, which nearly always is a null pointer.
// free(nullptr) does nothing; but a debug heap takes its lock before it finds that out.
#include "writers.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

class Formatter {
public:
    Formatter() = default;
    Formatter(const Formatter&) = delete;
    Formatter& operator=(const Formatter&) = delete;
    ~Formatter() { std::free(_dynamic); }

    std::string_view format(const char* pattern, std::va_list arguments) {
        std::va_list again;
        va_copy(again, arguments);
        const int length = std::vsnprintf(_inside, sizeof _inside, pattern, arguments);
        const auto size = static_cast<std::size_t>(length < 0 ? 0 : length);
        const char* text = _inside;
        if (size >= sizeof _inside) {
            _dynamic = static_cast<char*>(std::malloc(size + 1));
            if (!_dynamic) throw std::bad_alloc();
            std::vsnprintf(_dynamic, size + 1, pattern, again);
            text = _dynamic;
        }
        va_end(again);
        return {text, size};
    }

private:
    char _inside[256];
    char* _dynamic = nullptr;
};

[[gnu::format(printf, 2, 3)]] void print(Slice& slice, const char* pattern, ...) {
    std::va_list arguments;
    va_start(arguments, pattern);
    Formatter formatter;
    slice.append(formatter.format(pattern, arguments));
    va_end(arguments);
}

} // namespace

void write_with_sprintf(const Object& object, Slice& slice) {
    print(slice, "%u", object.id);
    print(slice, " %s", object.kind);
    print(slice, " x=%.3f", object.x);
    print(slice, " y=%.3f", object.y);
    print(slice, " z=%.3f", object.z);
    print(slice, " flags=%08x\n", object.flags);
}
