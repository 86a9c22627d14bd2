// The published values of FNV-1a; crates/trace/src/fnv.rs tests the same.
#include "fnv.hpp"

#include <gtest/gtest.h>

namespace memtoll {
namespace {

TEST(Fnv, PublishedValues) {
    const uint8_t text[] = {'f', 'o', 'o', 'b', 'a', 'r'};
    EXPECT_EQ(Fnv<uint32_t>().hash(), 0x811c9dc5u);
    EXPECT_EQ(Fnv<uint32_t>().add(text, 6).hash(), 0xbf9cf968u);
    EXPECT_EQ(Fnv<uint64_t>().hash(), 0xcbf29ce484222325u);
    EXPECT_EQ(Fnv<uint64_t>().add(text, 6).hash(), 0x85944171f73967e8u);
}

} // namespace
} // namespace memtoll
