// The last words of a process: what the kernel has counted for it, and its resident set. Every way to end that passes through
// a function comes by here. A signal leaves no time for words; then the supervisor says what it saw last.
#include "process_exit.hpp"

#include "../kernel.hpp"
#include "../threads/thread_life.hpp"
#include "../resource_usage.hpp"
#include "scope.hpp"

#include <cstdlib>

// What atexit calls, in every C library.
extern "C" int __cxa_atexit(void (*)(void*), void*, void*);

using namespace memtoll;

namespace {

// `frame` is that of the calling function, which has saved the registers that calls preserve in it (__builtin_unwind_init): what
// lies below is the recorder's.
void say_last_words(HookScope& scope, arch::HookFrame frame) {
    append_usage(scope.log(), wire::UsageBlob::kThread);
    append_usage(scope.log(), wire::UsageBlob::kProcess);
    publish_statistics(scope.state());
    // A look at the pages takes some tenths of a millisecond: too much for a process that did next to nothing.
    const uint32_t pages = has_used_much() ? uint32_t{wire::kPages} : 0u;
    const uint32_t lost_blocks = session.arena->searches_leaks ? uint32_t{wire::kLostBlocks} : 0u;
    if (pages | lost_blocks) await_look(scope.log(), pages | lost_blocks, frame.address - arch::kSavedBelowFrame);
}

// For kernels that do not tell the supervisor how a process ended.
void record_status(HookScope& scope, int status) {
    const uint64_t time = now();
    append(scope.log(), wire::kExit, time, time, static_cast<uint64_t>(status), 0, 0);
    publish(scope.log());
}

// Registered first, so it runs last.
void record_exit(int status, void*) {
    __builtin_unwind_init();
    HookScope scope(MEMTOLL_FRAME());
    if (!scope) return;
    scope.no_call();
    record_status(scope, status);
    say_last_words(scope, MEMTOLL_FRAME());
}

void record_exit_without_status(void*) {
    __builtin_unwind_init();
    HookScope scope(MEMTOLL_FRAME());
    if (!scope) return;
    scope.no_call();
    say_last_words(scope, MEMTOLL_FRAME());
}

// Whether the calling process is the one that is recorded: not a child on its parent's memory, between vfork and exec, and not
// a forked one that has made no call yet.
bool is_recorded_process() {
    return session.state.load(std::memory_order_acquire) == Session::kRecording && !session.is_parents() &&
           kernel::process_id() == session.process_id();
}

// By a function that runs no handlers of exit(). `status` is null where a signal ends the process.
[[gnu::noinline]] void record_sudden_end(arch::HookFrame frame, const int* status) {
    __builtin_unwind_init();
    if (!is_recorded_process()) return;
    HookScope scope(frame);
    if (!scope) return;
    scope.no_call();
    if (status) record_status(scope, *status);
    say_last_words(scope, MEMTOLL_FRAME());
}

} // namespace

void memtoll::expect_end() {
    static constinit std::atomic<bool> is_expected{false};
    if (is_expected.exchange(true)) return;
    // musl has no on_exit.
    using OnExit = int(void (*)(int, void*), void*);
    if (auto* const on_exit = reinterpret_cast<OnExit*>(find_symbol("on_exit", Where::kAnywhere)))
        on_exit(record_exit, nullptr);
    else
        __cxa_atexit(record_exit_without_status, nullptr, nullptr);
}

MEMTOLL_HOOK void _exit(int status) {
    need_next();
    record_sudden_end(MEMTOLL_FRAME(), &status);
    next._exit(status);
    __builtin_unreachable();
}

MEMTOLL_HOOK void _Exit(int status) noexcept {
    need_next();
    record_sudden_end(MEMTOLL_FRAME(), &status);
    next._Exit(status);
    __builtin_unreachable();
}

// The handlers of at_quick_exit run inside the real function: what they do comes after these words.
MEMTOLL_HOOK void quick_exit(int status) noexcept {
    need_next();
    record_sudden_end(MEMTOLL_FRAME(), &status);
    next.quick_exit(status);
    __builtin_unreachable();
}

// A handler of SIGABRT may leave it, and the program goes on. Later words then replace these.
MEMTOLL_HOOK void abort() noexcept {
    need_next();
    record_sudden_end(MEMTOLL_FRAME(), nullptr);
    next.abort();
    __builtin_unreachable();
}
