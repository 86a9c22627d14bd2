// The scopes in tests of Catch2: as a result to check, and as failures of the test they stand in.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>

#include <memtoll/count_allocations.hpp>
#include <memtoll/expect.hpp>

#include <string>
#include <vector>

namespace {

std::vector<int> make_numbers() { return std::vector<int>(100); }

} // namespace

TEST_CASE("a scope's result can be checked") {
    memtoll::expect_no_allocations quiet("quiet");
    const auto nothing = quiet.end();
    INFO(nothing.what());
    CHECK(nothing);

    memtoll::expect_no_allocations loud("loud");
    const auto numbers = make_numbers();
    const auto something = loud.end();
    CHECK_FALSE(something);
    CHECK(something.allocations == 1);
    CHECK_THAT(something.what(), Catch::Contains("loud: 1 allocations of 400 bytes"));
}

// Catch2 counts a test with this tag as passed if, and only if, it fails.
TEST_CASE("a scope that allocates fails its test", "[!shouldfail]") {
    memtoll::on_unexpected_allocations([](const memtoll::scope_allocations& result) { FAIL_CHECK(result.what()); });
    const memtoll::expect_no_allocations scope("loud");
    const auto numbers = make_numbers();
}

TEST_CASE("a scope that does as expected does not") {
    memtoll::on_unexpected_allocations([](const memtoll::scope_allocations& result) { FAIL_CHECK(result.what()); });
    const memtoll::expect_at_most scope(1);
    const auto numbers = make_numbers();
}
