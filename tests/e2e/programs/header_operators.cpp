// header_operators: an executable whose operators keep 16 bytes before each object, and a library that uses them
// (lib_for_headers.cpp). Each deletes what the other one has made.
#include "e2e.h"
#include <new>

static long live;

void* operator new(std::size_t size) {
    ++live;
    return static_cast<char*>(checked(malloc(size + 16))) + 16;
}
void operator delete(void* object) noexcept {
    if (!object) return;
    --live;
    free(static_cast<char*>(object) - 16);
}
void operator delete(void* object, std::size_t) noexcept { operator delete(object); }

struct Object {
    long numbers[3];
};
Object* library_makes();
void library_deletes(Object* object);

SITE static Object* program_makes() {
    auto* object = new Object;
    keep(object);
    return object;
}

int main() {
    Object* made[200];
    for (auto& object : made) object = library_makes();
    for (auto& object : made) delete object;
    for (int i = 0; i < 200; ++i) library_deletes(program_makes());
    say_number("live", live);
}
