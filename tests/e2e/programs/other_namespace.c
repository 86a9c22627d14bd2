/* other_namespace PLUGIN.so: loads a library, with a libc of its own, into another namespace; into which nothing is
 * preloaded. Errors of the loader are asked for on the way. */
#include "e2e.h"
#include <dlfcn.h>

SITE static void own_work(void) {
    for (int i = 0; i < 10; ++i) free(checked(malloc(10)));
    STAY();
}

int main(int argc, char **argv) {
    if (argc != 2) return 1;
    own_work();
    say_number("missing library", dlopen("/nowhere/missing.so", RTLD_NOW) == NULL && dlerror() != NULL);
    void *library = dlmopen(LM_ID_NEWLM, argv[1], RTLD_NOW);
    if (!library) return 2;
    void (*entry)(void);
    *(void **)&entry = dlsym(library, "plugin_entry");
    entry();
    say_number("missing symbol", dlsym(library, "missing") == NULL && dlerror() != NULL);
    own_work();
    return 0;
}
