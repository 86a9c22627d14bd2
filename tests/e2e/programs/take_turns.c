/* take_turns A.so B.so: 200 rounds in which two libraries are loaded and unloaded in turn. Tells whether they were ever
 * at the same address. */
#include "e2e.h"
#include <dlfcn.h>

static void *use(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    if (!library) _exit(92);
    void (*entry)(void);
    *(void **)&entry = dlsym(library, "plugin_entry");
    entry();
    Dl_info info;
    if (!dladdr((void *)entry, &info)) _exit(93);
    dlclose(library);
    return info.dli_fbase;
}

int main(int argc, char **argv) {
    if (argc != 3) return 1;
    int same = 0;
    for (int i = 0; i < 200; ++i) same += use(argv[1]) == use(argv[2]);
    say(same > 0 ? "the same address\n" : "different addresses\n");
    return 0;
}
