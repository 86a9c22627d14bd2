// Stacks through code without call frame information.
#include "code_without_rules.hpp"
#include "random_frames.hpp"

namespace memtoll::unwind::walks {
namespace {

TEST_F(Walk, CodeWithoutRulesEndsTheStack) {
    const CodeWithoutRules<> code;
    uint32_t root;
    const uint32_t node = code();
    const auto stack = walker_.path(node, root);
    EXPECT_EQ(root, uint32_t{wire::kRootNoRule});
    ASSERT_EQ(stack.size(), 1u);
    EXPECT_EQ(stack[0], code.call());
    EXPECT_EQ(walker_.nodes[node].key.load() >> wire::kModuleShift, uint64_t{kNoModule});
}

// The same stack as through code with rules, which a frame more stands in.
TEST_F(Walk, CodeWithoutRulesIsRead) {
    const CodeWithoutRules<arch::CallingCode> code;
    uint32_t root;
    const auto around = walker_.path(node_here(), root);
    const auto stack = walker_.path(code(), root);
    EXPECT_EQ(root, uint32_t{wire::kRootComplete});
    ASSERT_EQ(stack.size(), around.size() + 1);
    EXPECT_EQ(stack[0], code.call());
    EXPECT_TRUE(std::equal(stack.begin() + 2, stack.end(), around.begin() + 1));
}

TEST_F(Walk, MoreCallsThanRulesAreKept) {
    constexpr size_t kCalls = 100'000;
    const CodeWithoutRules<> code(kCalls);
    for (unsigned round = 0; round < 2; ++round) {
        for (size_t i = 0; i < kCalls; ++i) {
            uint32_t root;
            const auto stack = walker_.path(code(i), root);
            ASSERT_EQ(stack, std::vector<uintptr_t>{code.call(i)});
        }
    }
    EXPECT_GE(walker_.cache.rule_misses(), kCalls);
    descend(10);
}

TEST_F(Walk, CodeWithoutRulesAtTheBeginningOfTheStackIsItsEntry) {
    const CodeWithoutRules<> code;
    const uintptr_t own_end = Walker::stack_end();
    for (const auto& [above, expected] : {std::pair{0u, wire::kRootComplete}, std::pair{8u, wire::kRootComplete},
                                          std::pair{16u, wire::kRootNoRule}}) {
        walker_.cache.set_stack_end({own_end, sizeof(uintptr_t)});
        code();
        walker_.cache.set_stack_end({stack_pointer_at_call + above, sizeof(uintptr_t)});
        uint32_t root;
        EXPECT_EQ(walker_.path(code(), root).size(), 1u);
        EXPECT_EQ(root, uint32_t{expected}) << above << " bytes above";
    }
}

} // namespace
} // namespace memtoll::unwind::walks
