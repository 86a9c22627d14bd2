// Running out of memory, as a program meets it.
#include "e2e.h"
#include <new>

static int handler_calls;
static volatile std::size_t too_much = std::size_t{1} << 46;

static void give_up() {
    if (++handler_calls == 3) std::set_new_handler(nullptr);
}

SITE static int throws() {
    try {
        keep(::operator new(too_much));
    } catch (const std::bad_alloc& error) {
        return strcmp(error.what(), "std::bad_alloc") == 0;
    }
    return 0;
}

SITE static void* works() { return checked(::operator new(100)); }

int main() {
    std::set_new_handler(give_up);
    for (int i = 0; i < 5; ++i) {
        say_number("caught", throws());
        ::operator delete(works());
    }
    say_number("handler calls", handler_calls);
    say_number("nothrow", ::operator new(too_much, std::nothrow) == nullptr);
    say_number("array", [] {
        try {
            keep(new char[too_much]);
        } catch (const std::bad_alloc&) {
            return 1;
        }
        return 0;
    }());
}
