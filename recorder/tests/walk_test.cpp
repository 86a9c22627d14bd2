// Stacks as StackCache finds them, against libgcc's _Unwind_Backtrace, through every kind of frame that the compiler
// makes here: each stack is found by the table or the image (node) and by a walk from nothing, and all must agree.
#include "kernel.hpp"
#include "settings.hpp"
#include "unwind/stack_cache.hpp"
#include "unwind/stack_mappings.hpp"

#include <alloca.h>
#include <algorithm>
#include <csetjmp>
#include <csignal>
#include <gtest/gtest.h>
#include <memory>
#include <pthread.h>
#include <sys/mman.h>
#include <thread>
#include <ucontext.h>
#include <unwind.h>
#include <vector>

namespace memtoll::unwind {
namespace {

constexpr uint32_t kDepth = 512;

// What the recorder keeps for a thread, with a tree of its own.
struct Walker {
    explicit Walker(uint32_t depth_limit = kDepth) : memory(kernel::map_private(StackCache::memory_bytes(depth_limit))) {
        tree.start(nodes.data(), &count, static_cast<uint32_t>(nodes.size()), false);
        cache.memory = memory;
        cache.start(&tree, depth_limit, [](void*, uint16_t, const Module&) {}, nullptr, [](size_t) { return true; });
        cache.set_stack_end(stack_end());
        bytes = StackCache::memory_bytes(depth_limit);
    }
    ~Walker() {
        kernel::unmap(memory, bytes);
        tree.clear();
    }

    static uintptr_t stack_end() {
        pthread_attr_t attributes;
        pthread_getattr_np(pthread_self(), &attributes);
        void* low;
        size_t size;
        pthread_attr_getstack(&attributes, &low, &size);
        pthread_attr_destroy(&attributes);
        return reinterpret_cast<uintptr_t>(low) + size;
    }

    // Addresses of the calls, innermost first, and how the stack ends.
    std::vector<uintptr_t> path(uint32_t node, uint32_t& root) const {
        std::vector<uintptr_t> result;
        for (; node >= wire::kFirstNode; node = nodes[node].parent)
            result.push_back(nodes[node].key.load() & wire::kAddressMask);
        root = node;
        return result;
    }

    std::vector<wire::StackNode> nodes = std::vector<wire::StackNode>(1 << 20);
    std::atomic<uint32_t> count{wire::kFirstNode};
    StackTree tree;
    void* memory;
    size_t bytes;
    StackCache cache;
};

struct Reference {
    uintptr_t above; // frames whose CFA is not above this one belong to the test's own functions
    std::vector<uintptr_t> addresses;
};

_Unwind_Reason_Code collect(_Unwind_Context* context, void* out) {
    auto& reference = *static_cast<Reference*>(out);
    int before = 0;
    const uintptr_t address = _Unwind_GetIPInfo(context, &before);
    if (_Unwind_GetCFA(context) <= reference.above && reference.addresses.empty()) return _URC_NO_REASON;
    if (address) reference.addresses.push_back(before ? address : address - 1);
    return _URC_NO_REASON;
}

Walker* walker = nullptr;   // of the thread under test
unsigned checked = 0;
unsigned truncated = 0;
uintptr_t last_return_slot = 0; // of check's own call

// Stands where a hook would stand.
[[gnu::noinline]] void check() {
    const arch::CallerFrame caller = MEMTOLL_CALLER_FRAME();
    last_return_slot = caller.return_slot;
    const uint32_t node = walker->cache.node(caller);
    const uint32_t again = walker->cache.node(caller);
    uint32_t root;
    const std::vector<uintptr_t> stack = walker->path(node, root);
    // libgcc gives a frame the CFA of its callee: that of the innermost frame wanted is where this call began.
    Reference reference{caller.return_slot, {}};
    _Unwind_Backtrace(collect, &reference);
    ++checked;
    if (root != wire::kRootComplete) ++truncated;
    ASSERT_EQ(node, again) << "the second look found another stack";
    ASSERT_EQ(stack, reference.addresses);
    ASSERT_EQ(stack.empty() ? 0 : stack.front(), caller.return_address - 1);
}

[[gnu::noinline]] void keep(void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

// -- frames of all kinds -------------------------------------------------------------------------------------------------

test::Random* choice = nullptr;
void descend(unsigned levels);

[[gnu::noinline]] void plain(unsigned levels) {
    descend(levels);
    asm volatile("");
}

[[gnu::noinline]] void large_frame(unsigned levels) {
    char room[5000];
    keep(room);
    descend(levels);
    keep(room);
}

[[gnu::noinline]] void with_alloca(unsigned levels) {
    void* room = alloca(16 + choice->below(300));
    keep(room);
    descend(levels);
    keep(room);
}

// alloca of a different size each time round, so that the frame changes while the return address does not.
[[gnu::noinline]] void with_growing_alloca(unsigned levels) {
    for (unsigned i = 0; i < 3; ++i) {
        void* room = alloca(16 * (1 + choice->below(8)));
        keep(room);
        descend(levels);
    }
    asm volatile("");
}

[[gnu::noinline]] void realigned(unsigned levels) {
    alignas(64) char room[64];
    keep(room);
    descend(levels);
    keep(room);
}

[[gnu::noinline]] void realigned_with_alloca(unsigned levels) {
    alignas(128) char room[128];
    void* more = alloca(16 + choice->below(100));
    keep(room);
    keep(more);
    descend(levels);
    keep(room);
}

[[gnu::noinline]] int many_registers(unsigned levels, int a, int b, int c, int d, int e, int f, int g) {
    const int p = a * b, q = b * c, r = c * d, s = d * e, t = e * f, u = f * g;
    descend(levels);
    return p ^ q ^ r ^ s ^ t ^ u;
}

[[gnu::noinline, gnu::optimize("no-omit-frame-pointer")]] void framed(unsigned levels) {
    descend(levels);
    asm volatile("");
}

[[gnu::noinline]] void tail_call(unsigned levels) { return plain(levels); }

void in_library(unsigned levels) {
    // Through libc's frames: only the first comparison goes deeper.
    static thread_local unsigned deeper;
    unsigned* const at = &deeper;
    deeper = levels + 1;
    int numbers[] = {3, 1, 2};
    qsort(numbers, 3, sizeof *numbers, [](const void* a, const void* b) {
        const unsigned left = deeper;
        deeper = 0;
        if (left > 0) descend(left - 1);
        return *static_cast<const int*>(a) - *static_cast<const int*>(b);
    });
    *at = 0;
}

[[gnu::noinline]] void in_catch(unsigned levels) {
    try {
        throw levels;
    } catch (unsigned caught) {
        descend(caught);
    }
}

void descend(unsigned levels) {
    if (testing::Test::HasFatalFailure()) return;
    if (levels == 0) return check();
    --levels;
    switch (choice->below(11)) {
    case 0: return with_alloca(levels);
    case 1: large_frame(levels); break;
    case 2: realigned(levels); break;
    case 3: realigned_with_alloca(levels); break;
    case 4: many_registers(levels, 1, 2, 3, 4, 5, 6, 7); break;
    case 5: framed(levels); break;
    case 6: tail_call(levels); break;
    case 7: in_library(levels); break;
    case 8: if (levels < 6) with_growing_alloca(levels); else plain(levels); break;
    case 9: if (choice->one_in(8)) in_catch(levels); else plain(levels); break;
    default: plain(levels);
    }
    asm volatile("");
}

class Walk : public testing::Test {
protected:
    void SetUp() override {
        walker = &walker_;
        choice = &random_;
        checked = truncated = 0;
    }
    Walker walker_;
    test::Random random_{11};
};

TEST_F(Walk, RandomFrames) {
    for (uint64_t i = 0; i < test::rounds(20'000) && !HasFatalFailure(); ++i)
        descend(static_cast<unsigned>(random_.below(random_.one_in(20) ? 60 : 12)));
    EXPECT_GT(checked, 10'000u);
    EXPECT_EQ(truncated, 0u);
}

TEST_F(Walk, TheSamePathsAgainAndAgain) {
    // Most of these are answered by the prediction table, whose leaves then compete for their places.
    for (unsigned round = 0; round < 200 && !HasFatalFailure(); ++round) {
        test::Random same_each_time(99);
        choice = &same_each_time;
        for (unsigned i = 0; i < 100; ++i) descend(static_cast<unsigned>(same_each_time.below(12)));
    }
    EXPECT_LT(walker_.cache.walks, checked) << "nothing was predicted";
}

TEST_F(Walk, AnotherThread) {
    std::thread([&] {
        Walker own;
        walker = &own;
        for (unsigned i = 0; i < 2000; ++i) descend(static_cast<unsigned>(random_.below(12)));
        walker = &walker_;
    }).join();
    EXPECT_GT(checked, 1000u);
    EXPECT_EQ(truncated, 0u);
}

// Realigned and with alloca: the compiler then keeps the CFA in a word of the frame.
[[gnu::noinline]] void check_realigned(size_t bytes) {
    alignas(64) char room[64];
    keep(room);
    keep(alloca(bytes));
    check();
    keep(room);
}

// Calls check_realigned from one place, several times, moves the stack pointer by a little, and calls it from another
// place. If it then starts in the same 64 bytes, its frame lies where it lay: only the word that its CFA is read from
// says that its caller's return address lies elsewhere now. Where that one was, the old one still stands.
[[gnu::noinline]] bool realigned_to_the_same_place(unsigned times, size_t before, size_t between) {
    keep(alloca(before));
    for (unsigned i = 0; i < times; ++i) check_realigned(16);
    const uintptr_t first = last_return_slot;
    keep(alloca(between));
    check_realigned(16);
    return last_return_slot == first;
}

TEST_F(Walk, ARealignedFrameWhoseCallerHasMoved) {
    // Once: the last stack is all that is known (method 1). More often: it is predicted (method 2).
    for (const unsigned times : {1u, 5u}) {
        unsigned same_places = 0;
        for (size_t before = 1; before < 64; before += 16)
            for (size_t between = 1; between < 64; between += 16)
                same_places += realigned_to_the_same_place(times, before, between);
        EXPECT_GT(same_places, 0u) << "nothing was tested";
    }
}

void on_signal(int) { descend(3); }

TEST_F(Walk, SignalHandlers) {
    std::vector<char> stack(256 * 1024);
    for (const bool alternate : {false, true}) {
        stack_t other{};
        other.ss_sp = stack.data();
        other.ss_size = stack.size();
        if (alternate) sigaltstack(&other, nullptr);
        struct sigaction action {};
        action.sa_handler = on_signal;
        action.sa_flags = alternate ? SA_ONSTACK : 0;
        sigaction(SIGUSR1, &action, nullptr);
        for (unsigned i = 0; i < 300 && !HasFatalFailure(); ++i) {
            descend(static_cast<unsigned>(random_.below(6)));
            raise(SIGUSR1);
        }
        other.ss_flags = SS_DISABLE;
        sigaltstack(&other, nullptr);
    }
    signal(SIGUSR1, SIG_DFL);
    EXPECT_EQ(truncated, 0u);
}

ucontext_t main_context;
ucontext_t fiber_contexts[3];

void fiber(int number) {
    for (unsigned i = 0; i < 100 && !testing::Test::HasFatalFailure(); ++i) {
        descend(static_cast<unsigned>(choice->below(5)));
        swapcontext(&fiber_contexts[number], &main_context);
    }
    for (;;) swapcontext(&fiber_contexts[number], &main_context);
}

TEST_F(Walk, Fibers) {
    std::vector<std::vector<char>> stacks(3, std::vector<char>(256 * 1024));
    for (int i = 0; i < 3; ++i) {
        getcontext(&fiber_contexts[i]);
        fiber_contexts[i].uc_stack.ss_sp = stacks[size_t(i)].data();
        fiber_contexts[i].uc_stack.ss_size = stacks[size_t(i)].size();
        makecontext(&fiber_contexts[i], reinterpret_cast<void (*)()>(fiber), 1, i);
    }
    for (unsigned i = 0; i < 300 && !HasFatalFailure(); ++i) {
        descend(static_cast<unsigned>(random_.below(5)));
        swapcontext(&main_context, &fiber_contexts[random_.below(3)]);
    }
    EXPECT_EQ(truncated, 0u);
}

jmp_buf target_of_jump;

[[gnu::noinline]] void jump_out(unsigned levels) {
    if (levels > 0) {
        jump_out(levels - 1);
    } else {
        check();
        if (checked > 0) longjmp(target_of_jump, 1); // always; without the condition the compiler sees no way back
    }
    asm volatile("");
}

[[gnu::noinline]] void jump_out_and_back(unsigned levels) {
    if (setjmp(target_of_jump) == 0) jump_out(levels);
}

TEST_F(Walk, LongjmpAndExceptions) {
    for (unsigned i = 0; i < 300 && !HasFatalFailure(); ++i) {
        jump_out_and_back(static_cast<unsigned>(random_.below(20)));
        descend(static_cast<unsigned>(random_.below(8)));
        try {
            std::vector<int> v;
            descend(2);
            (void)v.at(3);
        } catch (const std::out_of_range&) {
            descend(1);
        }
    }
}

[[gnu::noinline]] uint32_t recurse(unsigned levels) {
    if (levels == 0) return walker->cache.node(MEMTOLL_CALLER_FRAME());
    const uint32_t node = recurse(levels - 1);
    asm volatile("");
    return node;
}

TEST_F(Walk, TooDeepStacksAreCutAndSaySo) {
    Walker shallow(64);
    walker = &shallow;
    uint32_t root;
    const auto deep = shallow.path(recurse(1000), root);
    EXPECT_EQ(root, uint32_t{wire::kRootTooDeep});
    EXPECT_EQ(deep.size(), 64u);
    const uint32_t used = shallow.count;
    recurse(2000);
    EXPECT_LE(shallow.count.load(), used + 80) << "deeper recursion must not make new stacks for ever";
    shallow.path(recurse(3), root);
    EXPECT_EQ(root, uint32_t{wire::kRootComplete});
}

// -- is somebody among the callers? -----------------------------------------------------------------------------------

Range searched_code;
CallerSearch::Found found;
bool known_before;

[[gnu::noinline]] void search_callers() {
    const arch::CallerFrame caller = MEMTOLL_CALLER_FRAME();
    known_before = walker->cache.is_called_directly(caller, searched_code);
    found = walker->cache.find_caller_in(caller, searched_code);
}

[[gnu::noinline]] void search_from(unsigned levels, bool by_signal) {
    if (levels > 0) search_from(levels - 1, by_signal);
    else if (by_signal) raise(SIGUSR1);
    else search_callers();
    asm volatile("");
}

// As the hook of operator new calls operator new, which calls malloc, whose hook searches.
[[gnu::noinline]] void search_in_between() {
    search_callers();
    asm volatile("");
}

[[gnu::noinline]] void search_through() {
    search_in_between();
    asm volatile("");
}

TEST_F(Walk, KnowsADirectCallerOnceItWasFound) {
    const auto code = reinterpret_cast<uintptr_t>(&search_through);
    searched_code = {code, code + 64};
    search_through();
    EXPECT_EQ(found, CallerSearch::kCaller);
    EXPECT_FALSE(known_before);
    search_through();
    EXPECT_TRUE(known_before);
    search_in_between();
    EXPECT_EQ(found, CallerSearch::kNo);
    EXPECT_FALSE(known_before) << "the same code, called by another";
    walker->cache.forget_code();
    search_through();
    EXPECT_FALSE(known_before) << "other code may be there now";
}

TEST_F(Walk, FindsACallerAsLongAsItIsThere) {
    const auto code = reinterpret_cast<uintptr_t>(&search_from);
    std::vector<char> stack(256 * 1024);
    stack_t other{};
    other.ss_sp = stack.data();
    other.ss_size = stack.size();
    sigaltstack(&other, nullptr);
    struct sigaction action {};
    action.sa_handler = [](int) { search_callers(); };
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, nullptr);
    for (const unsigned levels : {0u, 1u, 30u}) {
        for (const bool by_signal : {false, true}) {
            searched_code = {code, code + 16};
            search_from(levels, by_signal);
            EXPECT_EQ(found, CallerSearch::kNo) << "no call lies in a function's first bytes";
            searched_code = {code, code + 200};
            search_from(levels, by_signal);
            EXPECT_EQ(found, by_signal ? CallerSearch::kInterrupted : CallerSearch::kCaller);
            EXPECT_EQ(known_before, !by_signal);
        }
    }
    searched_code = {code, code + 200};
    search_callers();
    EXPECT_EQ(found, CallerSearch::kNo) << "it has returned";
    signal(SIGUSR1, SIG_DFL);
    other.ss_flags = SS_DISABLE;
    sigaltstack(&other, nullptr);
}

// -- code without call frame information ---------------------------------------------------------------------------------

uintptr_t stack_pointer_at_call;

extern "C" uint32_t memtoll_test_node_here() {
    const arch::CallerFrame caller = MEMTOLL_CALLER_FRAME();
    stack_pointer_at_call = caller.return_slot + sizeof(uintptr_t);
    return walker->cache.node(caller);
}

// A function that calls memtoll_test_node_here and returns its result.
// There are as many copies of it as are asked for.
struct CodeWithoutRules {
    static constexpr size_t kBytes = 32;
    explicit CodeWithoutRules(size_t copies = 1)
        : bytes(copies * kBytes),
          page(mmap(nullptr, bytes, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
        // sub rsp, 8; movabs rax, memtoll_test_node_here; call rax; add rsp, 8; ret
        uint8_t code[] = {0x48, 0x83, 0xec, 8, 0x48, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xd0, 0x48, 0x83, 0xc4, 8, 0xc3};
        const auto function = reinterpret_cast<uintptr_t>(&memtoll_test_node_here);
        memcpy(code + 6, &function, sizeof function);
        for (size_t at = 0; at < bytes; at += kBytes) memcpy(static_cast<char*>(page) + at, code, sizeof code);
    }
    ~CodeWithoutRules() { munmap(page, bytes); }
    uint32_t operator()(size_t copy = 0) const {
        return reinterpret_cast<uint32_t (*)()>(static_cast<char*>(page) + copy * kBytes)();
    }
    uintptr_t call(size_t copy = 0) const { return reinterpret_cast<uintptr_t>(page) + copy * kBytes + 15; }

    size_t bytes;
    void* page;
};

TEST_F(Walk, CodeWithoutRulesEndsTheStack) {
    const CodeWithoutRules code;
    uint32_t root;
    const uint32_t node = code();
    const auto stack = walker_.path(node, root);
    EXPECT_EQ(root, uint32_t{wire::kRootNoRule});
    ASSERT_EQ(stack.size(), 1u);
    EXPECT_EQ(stack[0], code.call());
    EXPECT_EQ(walker_.nodes[node].key.load() >> wire::kModuleShift, uint64_t{kNoModule});
}

TEST_F(Walk, MoreCallsThanRulesAreKept) {
    constexpr size_t kCalls = 100'000;
    const CodeWithoutRules code(kCalls);
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
    const CodeWithoutRules code;
    const uintptr_t own_end = Walker::stack_end();
    for (const auto& [above, expected] : {std::pair{0u, wire::kRootComplete}, std::pair{8u, wire::kRootComplete},
                                          std::pair{16u, wire::kRootNoRule}}) {
        walker_.cache.set_stack_end(own_end);
        code();
        walker_.cache.set_stack_end(stack_pointer_at_call + above);
        uint32_t root;
        EXPECT_EQ(walker_.path(code(), root).size(), 1u);
        EXPECT_EQ(root, uint32_t{expected}) << above << " bytes above";
    }
}

// -- stacks made by hand -------------------------------------------------------------------------------------------------

// A stack, and above it as many bytes again, of another protection perhaps.
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
    node_on_stack = walker->cache.node(MEMTOLL_CALLER_FRAME());
    asm volatile("");
}

// Deep enough for its return slot to lie on another page than the stack's top.
[[gnu::noinline]] void first_function() {
    char room[6000];
    keep(room);
    note_node();
    keep(room);
}

// Calls first_function() with its return address as the topmost word below `top`. The unwinder finds this function by its
// distance from the stack pointer, which leads it beyond the top.
[[gnu::noinline, gnu::optimize("omit-frame-pointer")]] uint32_t run_below(char* top) {
    asm volatile("movq %%rsp, %%rbx\n\t"
                 "movq %0, %%rsp\n\t"
                 "call *%1\n\t"
                 "movq %%rbx, %%rsp"
                 :
                 : "r"(top), "r"(&first_function)
                 : "rbx", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
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
    const CodeWithoutRules code;
    uint32_t root;
    const auto stack = walker_.path(run_below(HandMade(code.call() + 1).top()), root);
    EXPECT_EQ(root, uint32_t{wire::kRootNoRule});
    ASSERT_EQ(stack.size(), 3u);
    EXPECT_EQ(stack[2], code.call());
}

TEST_F(Walk, DataMayBecomeCode) {
    CodeWithoutRules code;
    const HandMade stack(code.call() + 1);
    mprotect(code.page, code.bytes, PROT_READ);
    expect_whole(walker_, run_below(stack.top()), "not yet code");
    mprotect(code.page, code.bytes, PROT_READ | PROT_EXEC);
    walker_.cache.set_stack_end(Walker::stack_end() - 8); // forgets the last stack
    uint32_t root;
    EXPECT_EQ(walker_.path(run_below(stack.top()), root).size(), 3u);
    EXPECT_EQ(root, uint32_t{wire::kRootNoRule});
}

// What is remembered of a mapping does not end a stack when the mapping has grown.
TEST_F(Walk, AMappingMayGrow) {
    const CodeWithoutRules code;
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
    asm volatile("movq %%rsp, %%rbx\n\t"
                 "movq %0, %%rsp\n\t"
                 "call *%1\n\t"
                 "movq %%rbx, %%rsp"
                 :
                 : "r"(top), "r"(&first_function)
                 : "rbx", "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
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
} // namespace memtoll::unwind
