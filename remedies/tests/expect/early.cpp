// A scope in a static initialiser that runs before those of the file that counts: it is counted, too.
#include <memtoll/expect.hpp>

#include <cstdio>
#include <memory>

namespace {

memtoll::scope_allocations allocate_one() {
    memtoll::expect_no_allocations scope;
    const auto one = std::make_unique<int>(1);
    return scope.end();
}

const memtoll::scope_allocations early = allocate_one();

} // namespace

int main() {
    std::puts(early.what());
    return early.counted && early.allocations == 1 ? 0 : 1;
}
