// A plugin in C++, with a constructor that allocates before anything is known of the file: 60 objects and 60 arrays, of which 10 of
// each are never freed.
#include "e2e.h"
#include <new>
#include <vector>

struct Object {
    long numbers[5];
};

static std::vector<int> made_at_start(1000);

SITE static void by_new() {
    for (int i = 0; i < 60; ++i) {
        auto* object = new Object;
        keep(object);
        if (i >= 10) delete object;
    }
    STAY();
}
SITE static void by_new_array() {
    for (int i = 0; i < 60; ++i) {
        auto* objects = new Object[3];
        keep(objects);
        if (i >= 10) delete[] objects;
    }
    STAY();
}

// An exception of the plugin's own C++ library passes through the hook; what comes after it is recorded.
SITE static void by_exception() {
    const size_t too_much = static_cast<size_t>(-1) / 4;
    for (int i = 0; i < 5; ++i) {
        try {
            keep(::operator new(too_much));
            _exit(96);
        } catch (const std::bad_alloc&) {
            auto* object = new Object;
            keep(object);
            delete object;
        }
    }
    STAY();
}

extern "C" void plugin_work() {
    keep(made_at_start.data());
    by_exception();
    by_new();
    by_new_array();
}
