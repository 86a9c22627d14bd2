// Two versions of a program. In the old one, half of the allocations come through `grab`; in the new one, `load` makes most. One of two
// overloads is called more often, and the parameter of `sized` has another type.
#include "e2e.h"
#include <cstdlib>

#ifdef NEW
using Size = long;
constexpr int ints = 50;
SITE static void load() { keep(checked(malloc(70))); STAY(); }
#else
using Size = int;
constexpr int ints = 30;
#endif

SITE static void *grab(size_t size) { void *block = checked(malloc(size)); STAY(); return block; }
SITE static void first() { keep(grab(10)); STAY(); }
SITE static void second() { keep(grab(20)); STAY(); }
SITE static void third() { keep(grab(30)); STAY(); }
SITE static void put(int) { keep(checked(malloc(40))); STAY(); }
SITE static void put(char const *) { keep(checked(malloc(50))); STAY(); }
SITE static void sized(Size) { keep(checked(malloc(60))); STAY(); }

int main() {
    for (int i = 0; i < 40; ++i) {
        first();
        second();
        third();
        keep(grab(80));
    }
    for (int i = 0; i < ints; ++i) put(1);
    for (int i = 0; i < 20; ++i) put("");
    for (int i = 0; i < 10; ++i) sized(1);
#ifdef NEW
    for (int i = 0; i < 600; ++i) load();
#endif
    return 0;
}
