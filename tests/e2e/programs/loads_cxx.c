/* loads_cxx PLUGIN.so: a C program that gets to know C++ only while it runs. */
#include "e2e.h"
#include <dlfcn.h>

int main(int argc, char **argv) {
    if (argc != 2) return 1;
    for (int i = 0; i < 3; ++i) {
        void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (!library) {
            say(dlerror());
            return 2;
        }
        int (*entry)(void);
        *(void **)&entry = dlsym(library, "plugin_cxx_entry");
        say_number("caught", entry());
        dlclose(library);
    }
    return 0;
}
