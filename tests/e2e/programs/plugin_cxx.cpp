// A C++ library that a C program loads late: libstdc++ comes with it. Allocates in global constructors and destructors.
#include "e2e.h"
#include <stdexcept>
#include <vector>

SITE static void global_begin() {
    for (int i = 0; i < 7; ++i) delete static_cast<int*>(checked(new int(i)));
}
SITE static void global_end() {
    for (int i = 0; i < 9; ++i) delete static_cast<int*>(checked(new int(i)));
}

struct Global {
    Global() { global_begin(); }
    ~Global() { global_end(); }
} global;

SITE static void fill(std::vector<int>& numbers) { numbers.assign(100, 1); }

SITE static int throwing(int depth) {
    std::vector<int> numbers;
    fill(numbers);
    if (depth == 0) throw std::out_of_range("on purpose");
    const int result = throwing(depth - 1);
    keep(numbers.data());
    return result;
}

extern "C" int plugin_cxx_entry() {
    int caught = 0;
    for (int i = 0; i < 10; ++i) {
        try {
            throwing(4);
        } catch (const std::exception&) {
            ++caught;
        }
    }
    return caught;
}
