// own_some: an executable that defines only some of the allocation functions, as the linker mold does with mimalloc's.
// The others are the C++ library's, and end with a jump to one of those: new[] to operator new, delete[] to operator delete.
#include "e2e.h"
#include <cerrno>
#include <new>

static char memory[16 << 20] __attribute__((aligned(4096)));
static size_t used;
static long taken, given, strangers;

static void* take(size_t size) {
    const size_t start = used + 16;
    used = (start + size + 15) / 16 * 16;
    *reinterpret_cast<size_t*>(memory + start - 16) = size;
    ++taken;
    return memory + start;
}

static void give(void* block) {
    if (!block) return;
    const auto* place = static_cast<char*>(block);
    strangers += place < memory || place >= memory + used;
    ++given;
}

extern "C" {
void* malloc(size_t size) { return take(size); }
void free(void* block) { give(block); }
void* calloc(size_t count, size_t size) { return take(count * size); }
void* realloc(void* block, size_t size) {
    void* moved = take(size);
    if (block) {
        const size_t old = *reinterpret_cast<size_t*>(static_cast<char*>(block) - 16);
        memcpy(moved, block, old < size ? old : size);
        give(block);
    }
    return moved;
}
}

void* operator new(std::size_t size) { return take(size); }
void operator delete(void* block) noexcept { give(block); }
void operator delete(void* block, std::size_t) noexcept { give(block); }

SITE static void arrays() {
    for (int i = 0; i < 20; ++i) delete[] static_cast<char*>(checked(new char[100]));
    STAY();
}

int main() {
    const long taken_before = taken, given_before = given;
    arrays();
    say_number("taken", taken - taken_before);
    say_number("given", given - given_before);
    say_number("strangers", strangers);
    return 9;
}
