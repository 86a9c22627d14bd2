// The gate that every hook passes: whether it records, and with which state. gate_table.hpp says what is decided.
#pragma once

#include "thread_state.hpp"

namespace memtoll {

// -- around an event -------------------------------------------------------------------------------------------------
// For hooks there is an object that does both (hooks/scope.hpp).

// Called at the start of a hook with its frame address. Null: do not record, only forward. Otherwise the hook is marked
// as busy until leave(). `prepare` runs where it may be needed, before a thread's first event: it makes sure that the hook
// knows what to forward to.
[[gnu::noinline]] ThreadState* enter_slow(arch::HookFrame frame, void (*prepare)());
[[gnu::noinline]] void leave_slow(ThreadState* state);

// `bits` of wire::GuardBits describe the real call.
[[gnu::always_inline]] inline ThreadState* enter(arch::HookFrame frame, void (*prepare)(), uint64_t bits = 0) {
    ThreadState* state = thread_state;
    if (state->how() != ThreadState::kReady || state->log.slot->guard.load(std::memory_order_relaxed) != 0) [[unlikely]] {
        state = enter_slow(frame, prepare);
        if (!state) return nullptr;
    }
    // Released: who sees this also sees what the thread published before.
    state->log.slot->guard.store(frame.address | bits, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return state;
}

// The real function has returned; from here on only the recorder is at work. To be called before the time of the return is
// looked up, which wire::kCountsAtEnd promises to be later.
[[gnu::always_inline]] inline void real_call_done(ThreadState* state, arch::HookFrame frame) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    state->log.slot->guard.store(frame.address | wire::kRecorderAtWork, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

[[gnu::always_inline]] inline void leave(ThreadState* state) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (--state->until_slow_leave == 0) [[unlikely]]
        return leave_slow(state);
    state->log.slot->guard.store(0, std::memory_order_release);
}

// -- what happens to a process ---------------------------------------------------------------------------------------

// Whether a hook of this thread has been interrupted by the signal handler that asks. `frame` is the asking hook's.
bool hook_is_interrupted(arch::HookFrame frame);
// In a child that such a handler has forked: the interrupted hook, too, must find a state when it goes on.
void repair_after_fork(arch::HookFrame frame);

// Called by a thread that has loaded code, before its event, with the event's caller: what there is to do when code
// has come. False: the loader is still at work, and it is to be called again before the next event.
extern bool (*on_load)(ThreadState* state, const arch::CallerFrame& caller);
// This thread is about to load code; `loaded`: files that have been loaded until now.
void expect_load(ThreadState* state, uint64_t loaded);

// Code is about to be, or has been, unloaded: every thread forgets what it knows about addresses before its next event.
void forget_code_in_all_threads();

} // namespace memtoll
