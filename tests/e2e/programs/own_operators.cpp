// The program replaces operator new and delete itself: they are called, and each block is counted once.
#include "e2e.h"
#include <cstdlib>
#include <new>

static long made, gone;

void* operator new(std::size_t size) {
    ++made;
    return checked(std::malloc(size));
}
void operator delete(void* block) noexcept {
    ++gone;
    std::free(block);
}
void operator delete(void* block, std::size_t) noexcept {
    ++gone;
    std::free(block);
}

SITE static int* make_things() {
    int* thing = new int(3);
    keep(thing);
    return thing;
}

int main() {
    for (int i = 0; i < 100; ++i) delete make_things();
    say_number("made", made);
    say_number("gone", gone);
}
