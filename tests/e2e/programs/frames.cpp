// Frames that are hard to measure: of variable size (alloca), realigned, both, very large, very many.
#include "e2e.h"
#include <alloca.h>
#include <cstdint>
#include <cstdlib>

SITE static void leaf() { std::free(checked(std::malloc(10))); STAY(); }

SITE static void variable(unsigned size) {
    auto* room = static_cast<volatile char*>(alloca(size));
    room[0] = 1;
    leaf();
    void* block = checked(std::malloc(20));
    room[size - 1] = 1;
    std::free(block);
    STAY();
}

SITE static void realigned(unsigned size) {
    alignas(128) volatile char room[128];
    room[0] = 1;
    if (reinterpret_cast<std::uintptr_t>(room) % 128) _exit(92);
    std::free(checked(std::malloc(30)));
    if (size) variable(size);
    room[127] = 1;
}

SITE static void both(unsigned size) {
    alignas(64) volatile char aligned[64];
    auto* room = static_cast<volatile char*>(alloca(size));
    aligned[0] = 1;
    room[0] = aligned[0];
    realigned(size);
    std::free(checked(std::malloc(40)));
    aligned[63] = 1;
    room[size - 1] = aligned[63];
}

SITE static void large() {
    volatile char room[500000];
    room[0] = 1;
    room[499999] = 1;
    keep(const_cast<char*>(room));
    std::free(checked(std::malloc(50)));
    STAY();
}

SITE static void recursive(int levels) {
    volatile int left = levels;
    if (left > 0) recursive(left - 1);
    else leaf();
    if (left % 100 == 0) std::free(checked(std::malloc(60)));
    STAY();
}

int main() {
    for (unsigned i = 1; i <= 1000; ++i) {
        const unsigned size = 1 + i * 7919 % 3000;
        variable(size);
        realigned(i % 2 ? size : 0);
        both(size);
        if (i % 10 == 0) large();
        if (i % 100 == 0) recursive(200);
    }
}
