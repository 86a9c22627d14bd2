// A program with operators new and delete that have memory of their own, and no malloc.
#include "e2e.h"
#include <cstddef>
#include <new>

#ifdef COPIED
#define OWN
#else
#define OWN SITE
#endif

alignas(16) static char memory[1 << 20];
static std::size_t used;
static long made, gone;

static void* take(std::size_t size) {
    ++made;
    char* block = memory + used;
    used += (size + 15) & ~std::size_t(15);
    return block;
}

OWN void* operator new(std::size_t size) { return take(size); }
void* operator new[](std::size_t size) { return take(size); }
OWN void operator delete(void*) noexcept { ++gone; }
OWN void operator delete(void*, std::size_t) noexcept { ++gone; }
void operator delete[](void*) noexcept { ++gone; }
void operator delete[](void*, std::size_t) noexcept { ++gone; }

SITE static long* make_one() {
    long* one = new long(3);
    keep(one);
    return one;
}

int main() {
    for (int i = 0; i < 100; ++i) delete make_one();
    for (int i = 0; i < 7; ++i) make_one();
    say_number("made", made);
    say_number("gone", gone);
}
