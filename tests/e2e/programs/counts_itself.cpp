// The program counts its allocations as a test with memtoll/expect.hpp does: its malloc goes on to the next one, which is
// the recorder's.
#include "e2e.h"
#include <memtoll/count_allocations.hpp>
#include <string>

SITE static void c_work() {
    for (int i = 0; i < 20; ++i) free(checked(malloc(10)));
    STAY();
}

SITE static void cxx_work() {
    for (int i = 0; i < 30; ++i) keep(std::string(100, 'x').data());
    STAY();
}

SITE static void library_work() {
    for (int i = 0; i < 40; ++i) free(checked(strdup("in the C library")));
    STAY();
}

static void count(const char* label, void (*work)()) {
    memtoll::expect_no_allocations scope(label);
    work();
    say_number(label, static_cast<long>(scope.end().allocations));
}

int main() {
    count("c", c_work);
    count("c++", cxx_work);
    count("library", library_work);
    return 7;
}
