/* forwards: an executable whose malloc and free do something of their own and go on to the next ones, as programs do that
 * count or log their allocations. */
#include "e2e.h"
#include <dlfcn.h>

static long allocations, releases;

void *malloc(size_t size) {
    static void *(*next)(size_t);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "malloc");
    void *block = next(size);
    ++allocations; /* after the call: it is no jump */
    return block;
}

void free(void *block) {
    static void (*next)(void *);
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "free");
    next(block);
    ++releases;
}

SITE static void executable_work(void) {
    for (int i = 0; i < 20; ++i) free(checked(malloc(10)));
    STAY();
}

SITE static void library_work(void) {
    for (int i = 0; i < 30; ++i) free(checked(strdup("in the C library")));
    STAY();
}

int main(void) {
    const long before = allocations, released = releases;
    executable_work();
    library_work();
    say_number("allocations", allocations - before);
    say_number("releases", releases - released);
    return 7;
}
