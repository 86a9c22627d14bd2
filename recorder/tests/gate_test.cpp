// The gate: what it decides, for everything that can have happened, and what follows from that.
#include "threads/gate.hpp"

#include "arena.hpp"
#include "threads/gate_table.hpp"
#include "threads/state_pool.hpp"
#include "threads/thread_life.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace memtoll {
namespace {

using Found = unwind::CallerSearch::Found;

TEST(GateTable, WhoHoldsTheGuardIsSeenFromIt) {
    constexpr uint64_t kHook = 0x7ffd'0000'1230;
    EXPECT_EQ(holder_of(0), Holder::kNobody);
    EXPECT_EQ(holder_of(kHook), Holder::kRealCall);
    EXPECT_EQ(holder_of(kHook | wire::kCountsAtEnd), Holder::kRealCall);
    EXPECT_EQ(holder_of(kHook | wire::kRecorderAtWork), Holder::kRecorder);
    EXPECT_EQ(holder_of(kHook | wire::kRecorderAtWork | wire::kCountsAtEnd), Holder::kRecorder);
}

TEST(GateTable, EveryCombinationHasItsVerdict) {
    const struct {
        Holder holder;
        Found found;
        Verdict verdict;
        const char* why;
    } cases[] = {
        {Holder::kNobody, unwind::CallerSearch::kNo, Verdict::kRecord, "an ordinary event"},
        {Holder::kRealCall, unwind::CallerSearch::kNo, Verdict::kTakeBack, "longjmp or an exception out of the real function"},
        {Holder::kRealCall, unwind::CallerSearch::kCaller, Verdict::kPass, "operator new's malloc"},
        {Holder::kRealCall, unwind::CallerSearch::kInterrupted, Verdict::kBorrow, "a signal handler inside malloc"},
        {Holder::kRealCall, unwind::CallerSearch::kUnknown, Verdict::kPass, "an allocator without unwinding information"},
        {Holder::kRecorder, unwind::CallerSearch::kNo, Verdict::kTakeBack, "longjmp out of a handler that interrupted the recorder"},
        {Holder::kRecorder, unwind::CallerSearch::kCaller, Verdict::kPass, "a call of the recorder's own"},
        {Holder::kRecorder, unwind::CallerSearch::kInterrupted, Verdict::kBorrow, "a signal handler inside the recorder"},
        {Holder::kRecorder, unwind::CallerSearch::kUnknown, Verdict::kBorrow, "a handler on a stack that cannot be followed"},
    };
    for (const auto& one : cases) EXPECT_EQ(verdict(one.holder, one.found), one.verdict) << one.why;
    for (const Found found : {unwind::CallerSearch::kNo, unwind::CallerSearch::kCaller, unwind::CallerSearch::kInterrupted, unwind::CallerSearch::kUnknown})
        EXPECT_EQ(verdict(Holder::kNobody, found), Verdict::kRecord) << "the stack is not looked at";
}

TEST(GateTable, WhereAThreadStands) {
    const auto own = [] { return false; };
    const auto parents = [] { return true; };
    const auto must_not_ask = [] {
        ADD_FAILURE() << "it is only asked of threads without a state";
        return true;
    };
    using Mode = ThreadState::Mode;
    for (const Mode mode : {Mode::kNone, Mode::kReady, Mode::kCheck, Mode::kTime, Mode::kLoad})
        EXPECT_EQ(standing(Session::kOff, mode, must_not_ask), Standing::kOff);
    EXPECT_EQ(standing(Session::kRecording, Mode::kNone, parents), Standing::kForkedChild);
    EXPECT_EQ(standing(Session::kRecording, Mode::kNone, own), Standing::kNew);
    EXPECT_EQ(standing(Session::kFresh, Mode::kNone, own), Standing::kNew);
    EXPECT_EQ(standing(Session::kRecording, Mode::kCheck, must_not_ask), Standing::kCodeGone) << "dlclose";
    for (const Mode mode : {Mode::kReady, Mode::kTime, Mode::kLoad})
        EXPECT_EQ(standing(Session::kRecording, mode, must_not_ask), Standing::kKnown);
}

// Threads and arenas as in a recorded process, which a child of its own is here: states are never given back. All of this
// program is taken for the recorder's code, so what depends on who calls is left to the tests with real programs.
class Gate : public testing::Test {
protected:
    // Runs `body` in a process of its own, whose failures are the test's.
    template <class Body> void in_a_process(Body body) {
        const pid_t child = ::fork();
        if (child == 0) {
            {
                test::Arena arena(8, 32, 32);
                session_of_this_process();
                body(*arena.header);
            }
            _exit(HasFailure());
        }
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_EQ(status, 0) << "see above";
    }

    static void session_of_this_process() {
        session.connect(); // there is no supervisor; but from now on it is known which process this is
        prepare_threads();
    }

    static void nothing() {}
    static ThreadState* enter_here() { return enter(MEMTOLL_FRAME(), nothing); }

    static uint64_t guard(const ThreadState* state) { return state->log.slot->guard; }
};

TEST_F(Gate, TheFirstEventAttachesTheThreadAndItsEndFreesTheState) {
    in_a_process([](wire::ArenaHeader& arena) {
        ThreadState* own = nullptr;
        for (int i = 0; i < 3; ++i) {
            std::thread([&] {
                ThreadState* state = enter_here();
                ASSERT_NE(state, nullptr);
                EXPECT_EQ(state, thread_state);
                EXPECT_NE(guard(state), 0u);
                leave(state);
                EXPECT_EQ(guard(state), 0u);
                EXPECT_TRUE(!own || state == own) << "the state of the thread that is gone";
                own = state;
            }).join();
        }
        EXPECT_EQ(arena.slots_used, 1u);
        EXPECT_EQ(arena.threads_begun, 3u);
    });
}

// The handler comes when the thread has found that it has no state, and before it has one.
TEST_F(Gate, WhatASignalHandlerHasRecordedBeforeItsThreadBeginsStays) {
    in_a_process([](wire::ArenaHeader& arena) {
        ThreadState* state = enter_here();
        ASSERT_NE(state, nullptr);
        leave(state);
        const uint32_t first = state->log.slot->first_chunk;
        const uint64_t published = state->log.slot->published;
        EXPECT_EQ(attach(MEMTOLL_FRAME(), false), state);
        EXPECT_EQ(thread_state, state);
        EXPECT_EQ(state->log.slot->first_chunk, first);
        EXPECT_GE(state->log.slot->published, published);
        EXPECT_EQ(arena.slots_used, 1u);
        EXPECT_EQ(arena.threads_begun, 1u);
    });
}

TEST_F(Gate, MoreThreadsThanSlotsAreCounted) {
    in_a_process([](wire::ArenaHeader& arena) {
        arena.max_slots = 1;
        ThreadState* state = enter_here();
        ASSERT_NE(state, nullptr);
        std::thread([] { EXPECT_EQ(enter_here(), nullptr); }).join();
        EXPECT_EQ(arena.dropped, 1u);
        leave(state);
    });
}

TEST_F(Gate, ACallInsideTheRealCallPasses) {
    in_a_process([](wire::ArenaHeader& arena) {
        ThreadState* state = enter_here();
        ASSERT_NE(state, nullptr);
        const uint64_t held = guard(state);
        EXPECT_EQ(enter_here(), nullptr);
        EXPECT_EQ(guard(state), held);
        EXPECT_EQ(arena.nested, 0u);
        leave(state);
    });
}

TEST_F(Gate, UnloadedCodeIsForgottenByEveryThread) {
    in_a_process([](wire::ArenaHeader&) {
        ThreadState* state = enter_here();
        ASSERT_NE(state, nullptr);
        leave(state);
        forget_code_in_all_threads();
        EXPECT_EQ(state->how(), ThreadState::kCheck);
        EXPECT_EQ(enter_here(), state);
        EXPECT_EQ(state->how(), ThreadState::kReady);
        leave(state);
    });
}

TEST_F(Gate, LoadedCodeIsLookedAtUntilTheLoaderIsDone) {
    static int asked;
    in_a_process([](wire::ArenaHeader&) {
        on_load = [](ThreadState*, const arch::CallerFrame&) { return ++asked == 2; };
        ThreadState* state = enter_here();
        ASSERT_NE(state, nullptr);
        expect_load(state, 7);
        leave(state);
        for (int i = 0; i < 3; ++i) leave(enter_here());
        EXPECT_EQ(asked, 2);
        EXPECT_EQ(state->loaded_before, 7u);
    });
}

TEST_F(Gate, AForkedChildWithoutASupervisorIsNotRecorded) {
    in_a_process([](wire::ArenaHeader&) {
        ThreadState* state = enter_here();
        ASSERT_NE(state, nullptr);
        leave(state);
        const pid_t child = ::fork();
        if (child == 0) {
            const bool passed = enter_here() == nullptr && session.state == Session::kOff && enter_here() == nullptr;
            _exit(!passed);
        }
        int status = 1;
        waitpid(child, &status, 0);
        EXPECT_EQ(status, 0);
        EXPECT_EQ(enter_here(), state) << "the parent goes on";
        leave(state);
    });
}

TEST_F(Gate, AThreadThatBeginsInASandboxFindsAState) {
    in_a_process([](wire::ArenaHeader& arena) {
        ThreadState* state = enter_here();
        ASSERT_NE(state, nullptr);
        leave(state);
        state_pool::reserve();
        kernel::silent = 1;
        std::thread([] {
            ThreadState* other = enter_here();
            ASSERT_NE(other, nullptr);
            leave(other);
        }).join();
        EXPECT_EQ(arena.slots_used, 2u);
        EXPECT_EQ(arena.dropped, 0u);
    });
}

TEST_F(Gate, AfterTheEndOfRecordingEventsPass) {
    in_a_process([](wire::ArenaHeader&) {
        ThreadState* state = enter_here();
        ASSERT_NE(state, nullptr);
        session.stop();
        state->log.is_over = true;
        leave(state);
        unsigned recorded = 0;
        while (recorded < 1000) {
            ThreadState* entered = enter_here();
            if (!entered) break;
            leave(entered);
            ++recorded;
        }
        EXPECT_LT(recorded, 100u) << "an interval of the gate's, at most";
    });
}

} // namespace
} // namespace memtoll
