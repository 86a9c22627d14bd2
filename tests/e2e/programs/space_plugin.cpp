// A plugin in C++, with a constructor that allocates before anything is known of the file: 60 objects and 60 arrays, of which 10 of
// each are never freed.
#include "e2e.h"
#include <string>
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

extern "C" void plugin_work() {
    keep(made_at_start.data());
    by_new();
    by_new_array();
}
