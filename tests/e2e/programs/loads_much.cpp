// loads_much PLUGIN.so: replaces operator new and delete, loads a library, and then libraries that are there already, or
// nowhere. What it does between and after that, it does often.
#include "e2e.h"
#include <cstdlib>
#include <dlfcn.h>
#include <new>

void* operator new(std::size_t size) { return checked(std::malloc(size)); }
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }

SITE static void often() {
    for (int i = 0; i < 10000; ++i) {
        int* thing = new int(i);
        keep(thing);
        delete thing;
    }
}

int main(int argc, char** argv) {
    if (argc != 2) return 1;
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    int (*entry)();
    *reinterpret_cast<void**>(&entry) = dlsym(library, "plugin_cxx_entry");
    say_number("caught", entry());
    often();
    say_number("nowhere", dlopen("/nowhere/at/all.so", RTLD_NOW) == nullptr);
    often();
    say_number("here", dlopen("libc.so.6", RTLD_NOW) != nullptr);
    often();
    dlclose(library);
}
