// First calls that take as long as calls take, and then calls that clear memory inside.
#include "e2e.h"

SITE static void quick(void) { free(checked(malloc(40))); STAY(); }
SITE static void slow(void) { free(checked(calloc(1, 60000))); STAY(); }

int main(void) {
    for (int i = 0; i < 50000; ++i) quick();
    for (int i = 0; i < 5000; ++i) slow();
    return 0;
}
