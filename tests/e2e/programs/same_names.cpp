// Allocates in functions, files and programs that have the same names: overloads, the function `plugged` of each library among its
// arguments, and once more in the same program, which it executes itself.
#include "e2e.h"
#include <cstdlib>
#ifdef PLUGIN
SITE static void *plugged() { void *block = malloc(PLUGIN); STAY(); return block; }
extern "C" void *plug() { void *block = plugged(); STAY(); return block; }
#else
#include <dlfcn.h>
#include <unistd.h>

SITE static void *made(int) { void *block = malloc(10); STAY(); return block; }
SITE static void *made(long) { void *block = malloc(20); STAY(); return block; }

int main(int count, char **words) {
    keep(made(1));
    keep(made(1L));
    for (int i = 1; i < count; ++i) {
        void *file = dlopen(words[i], RTLD_NOW);
        if (!file) return 2;
        keep(reinterpret_cast<void *(*)()>(dlsym(file, "plug"))());
    }
    if (getenv("IS_SECOND")) return 0;
    setenv("IS_SECOND", "1", 1);
    execv(words[0], words);
    return 3;
}
#endif
