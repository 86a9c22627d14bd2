// Is a call of some code among the callers?
#include "random_frames.hpp"

#include <csignal>

namespace memtoll::unwind::walks {
namespace {

Range searched_code;
CallerSearch::Found found;
bool known_before;

[[gnu::noinline]] void search_callers() {
    const arch::CallerFrame caller = arch::caller_frame(MEMTOLL_FRAME());
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

[[gnu::noinline]] void search_further() {
    search_through();
    asm volatile("");
}

TEST_F(Walk, KnowsFurtherCallersOnceTheyWereFound) {
    const auto code = reinterpret_cast<uintptr_t>(&search_further);
    searched_code = {code, code + 64};
    walker->cache.forget_code();
    search_further();
    EXPECT_EQ(found, CallerSearch::kCaller);
    EXPECT_FALSE(known_before);
    search_further();
    EXPECT_TRUE(known_before);
    search_through();
    EXPECT_EQ(found, CallerSearch::kNo);
    EXPECT_FALSE(known_before) << "the first caller is another one";
    search_in_between();
    EXPECT_FALSE(known_before) << "so is the second one";
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

} // namespace
} // namespace memtoll::unwind::walks
