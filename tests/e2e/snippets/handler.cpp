// standards: 17 20
#include <gtest/gtest.h>
#include <memtoll/expect.hpp>
void use() {
    @remedies/README.md: memtoll::on_unexpected_allocations(
}
