/* One function asks for memory, another one touches all of it. */
#include "pages.h"

enum { kBytes = 40 << 20 };

SITE static char *asks(void) {
    char *memory = mapped(mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    STAY();
    return memory;
}

SITE static void uses(char *memory) {
    touch(memory, kBytes / PAGE);
    STAY();
}

int main(void) {
    small_pages_only();
    uses(asks());
    return 0;
}
