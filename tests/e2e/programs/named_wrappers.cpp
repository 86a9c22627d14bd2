// Wrappers of malloc that are called like one, with two callers each.
#include "e2e.h"
#include <cstdlib>
#include <cstring>

namespace app {
SITE static void* xmalloc(size_t size) { void* block = checked(malloc(size)); STAY(); return block; }
}
namespace os {
SITE static void* malloc(size_t size) { void* block = checked(::malloc(size)); STAY(); return block; }
}
extern "C" SITE char* g_strdup(const char* text) {
    char* copy = static_cast<char*>(checked(malloc(strlen(text) + 1)));
    strcpy(copy, text);
    return copy;
}

SITE static void parse() {
    free(app::xmalloc(10));
    free(os::malloc(20));
    STAY();
}
SITE static void load() {
    free(g_strdup("a text"));
    free(app::xmalloc(10));
    STAY();
}
SITE static void store() {
    free(g_strdup("another text"));
    free(os::malloc(30));
    STAY();
}
// Called like a wrapper, but from one line only.
SITE static void test_malloc() { free(checked(malloc(5))); STAY(); }

int main() {
    for (int i = 0; i < 100; ++i) parse();
    for (int i = 0; i < 50; ++i) load();
    for (int i = 0; i < 30; ++i) store();
    for (int i = 0; i < 20; ++i) test_malloc();
    return 0;
}
