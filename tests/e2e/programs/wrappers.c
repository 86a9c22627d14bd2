// A program's own malloc, of which one caller makes most use, and a function that allocates most for itself.
#include "e2e.h"
#include <stdlib.h>

SITE static void* own_alloc(size_t size) { void* block = checked(malloc(size)); STAY(); return block; }
SITE static void often(void) { free(own_alloc(10)); STAY(); }
SITE static void sometimes(void) { free(own_alloc(20)); STAY(); }
SITE static void rarely(void) { free(own_alloc(30)); STAY(); }

int main(void) {
    for (int i = 0; i < 830; ++i) often();
    for (int i = 0; i < 100; ++i) sometimes();
    for (int i = 0; i < 70; ++i) rarely();
    return 0;
}
