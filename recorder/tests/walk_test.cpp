// Stacks as StackCache finds them, against libgcc's unwinder: each is found by the table or the image and by a walk from
// nothing, and all must agree.
#include "random_frames.hpp"

#include <alloca.h>
#include <csetjmp>
#include <csignal>
#include <stdexcept>
#include <thread>
#include <ucontext.h>

namespace memtoll::unwind::walks {
namespace {

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
    if (levels == 0) return walker->cache.node(arch::caller_frame(MEMTOLL_FRAME()));
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

} // namespace
} // namespace memtoll::unwind::walks
