// With MEMTOLL_EXPECTATIONS off, a scope is nothing.
#include <memtoll/expect.hpp>

#include <memory>
#include <type_traits>

static_assert(std::is_empty_v<memtoll::expect_no_allocations> && std::is_empty_v<memtoll::expect_at_most>);

int main() {
    memtoll::on_unexpected_allocations(nullptr);
    const memtoll::expect_no_allocations scope("frame");
    const memtoll::expect_at_most another(3);
    return *std::make_unique<int>(0);
}
