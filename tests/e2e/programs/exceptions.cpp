// Exceptions thrown through 20 frames, each of which holds a block that its destructor frees; allocations before, on the
// way and after.
#include "e2e.h"
#include <stdexcept>

SITE static void* held() { return checked(std::malloc(40)); }

struct Holder {
    void* block = held();
    ~Holder() { std::free(block); }
};

SITE static int descend(int levels) {
    Holder holder;
    if (levels == 0) throw std::runtime_error("a message that is too long to be kept in place");
    const int result = descend(levels - 1) + 1;
    keep(&holder);
    return result;
}

SITE static void after_catch() { std::free(checked(std::malloc(50))); STAY(); }

SITE static int attempt() {
    try {
        return descend(19);
    } catch (const std::runtime_error& error) {
        after_catch();
        return strlen(error.what()) > 20;
    }
}

int main() {
    int caught = 0;
    for (int i = 0; i < 500; ++i) {
        caught += attempt();
        after_catch();
    }
    say_number("caught", caught);
}
