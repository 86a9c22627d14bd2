// Where allocations are not counted, a scope cannot be as expected.
#include <memtoll/expect.hpp>

#include <cstdio>
#include <cstring>

int main() {
    memtoll::expect_no_allocations scope;
    const auto result = scope.end();
    std::puts(result.what());
    return !result && std::strstr(result.what(), "not counted") ? 0 : 1;
}
