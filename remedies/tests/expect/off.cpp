// With MEMTOLL_EXPECTATIONS off, a scope is nothing, and whatever uses it still compiles.
#include <memtoll/expect.hpp>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <type_traits>

static_assert(std::is_empty_v<memtoll::expect_no_allocations> && std::is_empty_v<memtoll::expect_at_most>);

int main() {
    memtoll::on_unexpected_allocations(nullptr);
    memtoll::on_unexpected_allocations([](const memtoll::scope_allocations& result) {
        std::printf("%s:%d: %s %s\n", result.file, result.line, result.name ? result.name : "", result.what());
        std::exit(static_cast<int>(1 + result.allocations + result.bytes + result.expected + result.counted));
    });
    {
        memtoll::expect_at_most one(0, "name", __FILE__, __LINE__);
        const auto leaked = std::make_unique<int>(1);
        const memtoll::scope_allocations result = one.end();
        if (!result || result.counted || !*result.what()) return 2;
        memtoll::expect_no_allocations none("name", __FILE__, __LINE__);
        memtoll::expect_at_most& as_base = none;
        if (!as_base.end()) return 3;
    }
    const memtoll::expect_no_allocations scope("frame");
    const memtoll::expect_at_most another(3);
    return *std::make_unique<int>(0);
}
