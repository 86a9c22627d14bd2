// What linkers write for this processor's procedure linkage table.
#include "../../handmade_cfi.hpp"

#include <gtest/gtest.h>

namespace memtoll::unwind {
namespace {

TEST(Cfi, ThePltExpressionDependsOnTheAddress) {
    // What linkers write for a lazy PLT: rsp + 8 + ((rip & 15) >= 11) * 8.
    Handmade h({0x0f, 11, breg(kSp), 8, breg(kPc), 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22});
    for (uintptr_t offset = 0; offset < 64; ++offset) {
        ASSERT_TRUE(h.row(offset));
        const Rule rule = compress(h.scratch->row, kStart + offset);
        EXPECT_EQ(rule.cfa, Rule::kStack);
        EXPECT_EQ(rule.cfa_offset, (offset & 15) >= 11 ? 16 : 8) << "at +" << offset;
    }
}

} // namespace
} // namespace memtoll::unwind
