/* free_sized and free_aligned_sized of C23, which this libc may lack, and cfree, which it no longer shows to the linker:
 * found by name as a program would that does not depend on them. */
#include "e2e.h"
#include <dlfcn.h>

SITE static void *make(void) { return checked(aligned_alloc(64, 128)); }

int main(void) {
    void (*sized)(void *, size_t) = (void (*)(void *, size_t))dlsym(RTLD_DEFAULT, "free_sized");
    void (*aligned)(void *, size_t, size_t) =
        (void (*)(void *, size_t, size_t))dlsym(RTLD_DEFAULT, "free_aligned_sized");
    void (*old)(void *) = (void (*)(void *))dlsym(RTLD_DEFAULT, "cfree");
    free(checked(malloc(1))); /* dlerror's text, if any, stays out of the way */
    for (int i = 0; i < 10; ++i) {
        if (sized) sized(make(), 128);
        else free(make());
        if (aligned) aligned(make(), 64, 128);
        else free(make());
        if (old) old(make());
        else free(make());
    }
    return 0;
}
