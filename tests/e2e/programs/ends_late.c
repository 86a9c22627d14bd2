/* Some calls, and a large block: the search for lost blocks at the end takes about as long as the program. */
#include "pages.h"

int main(int count, char **arguments) {
    enum { kBytes = 64 << 20 };
    static char *volatile block;
    small_pages_only();
    for (int i = count > 1 ? atoi(arguments[1]) : 0; i > 0; --i) keep(checked(malloc(10)));
    block = checked(malloc(kBytes));
    memset(block, 1, kBytes);
    return 0;
}
