/* opening_plugin: a plugin that opens the one that OPENS names, and lets it work. */
#include "e2e.h"
#include <dlfcn.h>

void plugin_work(void);

void plugin_work(void) {
    free(checked(malloc(7)));
    void *handle = dlopen(getenv("OPENS"), RTLD_NOW);
    if (!handle) {
        say(dlerror());
        _exit(97);
    }
    void (*work)(void) = (void (*)(void))dlsym(handle, "plugin_work");
    work();
    dlclose(handle);
}
