// Where stacks end that the program made by itself, as fibers have them.
#include "arch/machine_code.hpp"
#include "code_without_rules.hpp"
#include "random_frames.hpp"
#include "unwind/stack_mappings.hpp"

#include <alloca.h>

namespace memtoll::unwind::walks {
namespace {

// A stack and, above it, as many bytes of `protection_above`.
struct HandMade {
    static constexpr size_t kBytes = 64 * 1024;
    explicit HandMade(uintptr_t word_above = 0, int protection_above = PROT_READ | PROT_WRITE)
        : low(static_cast<char*>(mmap(nullptr, 2 * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
        for (size_t at = 0; at < kBytes; at += sizeof word_above) memcpy(top() + at, &word_above, sizeof word_above);
        protect_above(protection_above);
    }
    ~HandMade() {
        munmap(low, 2 * kBytes);
        has_changed();
    }
    void protect_above(int protection) const {
        mprotect(top(), kBytes, protection);
        has_changed();
    }
    // As the hooks of mprotect and munmap say it.
    void has_changed() const { stack_mappings::forget(reinterpret_cast<uintptr_t>(low), 2 * kBytes); }
    char* top() const { return low + kBytes; }
    char* low;
};

uint32_t node_on_stack;

[[gnu::noinline]] void note_node() {
    node_on_stack = walker->cache.node(arch::caller_frame(MEMTOLL_FRAME()));
    asm volatile("");
}

// Deep enough for its return slot to lie on another page than the stack's top.
[[gnu::noinline]] void first_function() {
    char room[6000];
    keep(room);
    note_node();
    keep(room);
}

// The unwinder finds this function by its distance from the stack pointer, which leads it beyond the top.
[[gnu::noinline, gnu::optimize("omit-frame-pointer")]] uint32_t run_below(char* top) {
    arch::call_on(top, first_function);
    return node_on_stack;
}

void expect_whole(Walker& of, uint32_t node, const char* what) {
    uint32_t root;
    const auto stack = of.path(node, root);
    EXPECT_EQ(root, uint32_t{wire::kRootComplete}) << what;
    EXPECT_EQ(stack.size(), 2u) << what; // first_function and run_below
}

TEST_F(Walk, AStackEndsWithItsMapping) {
    const auto code = reinterpret_cast<uintptr_t>(&descend) + 8;
    expect_whole(walker_, run_below(HandMade(code, PROT_READ).top()), "code's addresses above");
    expect_whole(walker_, run_below(HandMade(0, PROT_NONE).top()), "nothing to read above");
    const HandMade bare;
    munmap(bare.top(), HandMade::kBytes);
    bare.has_changed();
    for (int i = 0; i < 3; ++i) expect_whole(walker_, run_below(bare.top()), "nothing above");
}

TEST_F(Walk, AStackEndsBeforeWhatCannotBeAReturnAddress) {
    const HandMade other;
    expect_whole(walker_, run_below(HandMade(reinterpret_cast<uintptr_t>(other.low)).top()), "addresses of data");
    expect_whole(walker_, run_below(HandMade(reinterpret_cast<uintptr_t>(&choice)).top()), "addresses of a file's data");
    expect_whole(walker_, run_below(HandMade(12345).top()), "numbers");
}

TEST_F(Walk, CodeWithoutRulesMayCallFromTheSameMapping) {
    const CodeWithoutRules<> code;
    uint32_t root;
    const auto stack = walker_.path(run_below(HandMade(code.call() + 1).top()), root);
    EXPECT_EQ(root, uint32_t{wire::kRootNoRule});
    ASSERT_EQ(stack.size(), 3u);
    EXPECT_EQ(stack[2], code.call());
}

TEST_F(Walk, DataMayBecomeCode) {
    CodeWithoutRules<> code;
    const HandMade stack(code.call() + 1);
    mprotect(code.page, code.bytes, PROT_READ);
    expect_whole(walker_, run_below(stack.top()), "not yet code");
    mprotect(code.page, code.bytes, PROT_READ | PROT_EXEC);
    walker_.cache.set_stack_end({Walker::stack_end() - 8, sizeof(uintptr_t)}); // forgets the last stack
    uint32_t root;
    EXPECT_EQ(walker_.path(run_below(stack.top()), root).size(), 3u);
    EXPECT_EQ(root, uint32_t{wire::kRootNoRule});
}

// What is remembered of a mapping does not end a stack when the mapping has grown.
TEST_F(Walk, AMappingMayGrow) {
    const CodeWithoutRules<> code;
    const HandMade stack(code.call() + 1, PROT_READ);
    expect_whole(walker_, run_below(stack.top()), "small");
    mprotect(stack.top(), HandMade::kBytes, PROT_READ | PROT_WRITE); // by a system call of the program's own
    run_below(stack.top() - 64); // another stack, so that the last one is not met
    uint32_t root;
    EXPECT_EQ(walker_.path(run_below(stack.top()), root).size(), 3u);
    EXPECT_EQ(root, uint32_t{wire::kRootNoRule});
}

// Where the recorder may not ask, stacks are found as far as they can be.
TEST_F(Walk, HandMadeStacksWithoutSystemCalls) {
    kernel::silent = 1;
    const uint32_t node = run_below(HandMade(0, PROT_NONE).top());
    kernel::silent = 0;
    uint32_t root;
    EXPECT_GE(walker_.path(node, root).size(), 1u);
    EXPECT_EQ(root, uint32_t{wire::kRootBadFrame});
}

// Goes on with a stack of its own, and says by its frame pointer where its caller's is.
[[gnu::noinline, gnu::optimize("no-omit-frame-pointer")]] uint32_t on_changed_stack(char* top) {
    keep(alloca(16 + choice->below(2))); // its rule goes by the frame pointer
    arch::call_on(top, first_function);
    return node_on_stack;
}

TEST_F(Walk, AFrameMayPointToItsCallersStack) {
    const HandMade stack(0, PROT_NONE);
    uint32_t root;
    const auto path = walker_.path(on_changed_stack(stack.top()), root);
    EXPECT_EQ(root, uint32_t{wire::kRootComplete});
    EXPECT_GT(path.size(), 5u) << "main and the test are above";
}

} // namespace
} // namespace memtoll::unwind::walks
