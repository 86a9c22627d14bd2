// What the recorder keeps for each thread: its end of the log and its stack cache.
//
// A state belongs to one thread at a time and is recycled when the thread ends; there are as many as threads were ever
// alive together, at most kMaxSlots. It lies in memory that the kernel wipes in a forked child, so a child that finds `mode` zero asks
// the session whether it was forked, by whichever system call.
#pragma once

#include "overlap.hpp"
#include "own_cost.hpp"
#include "session.hpp"
#include "unwind/stack_cache.hpp"
#include "wire.hpp"

#include <atomic>
#include <cstdint>

namespace memtoll {

struct ThreadState {
    enum Mode : uint32_t {
        kNone = 0,  // not attached, or wiped by a fork
        kReady = 1, // events may be recorded
        kCheck = 2, // code was unloaded: forget_code() first
        kTime = 3,  // events may be recorded, and the next one is to be timed (own_cost.hpp)
        kLoad = 4,  // this thread has called dlopen: on_load() first
    };

    std::atomic<uint32_t> mode{kNone};
    uint32_t until_slow_leave = 1; // events
    wire::ThreadSlot* slot = nullptr;
    wire::Record* next = nullptr; // where the next record goes
    wire::Record* end = nullptr;  // of the current chunk
    uint64_t real_ticks = 0;      // how long the last real call took
    unwind::StackCache stacks;

    bool borrowed = false;      // serves a single event (see enter_slow)
    bool loads = false;         // on_load() is due
    uint64_t loaded_before = 0; // files, when that began
    OwnCost cost;
    Overlap overlap;
    uint64_t cost_at_begin = 0; // what `cost` was when the present thread took over
    uint32_t index = 0;         // of the slot
    uint32_t chunk = wire::kNoChunk;
};

// The calling thread's state. Never null: threads without one share `no_state`, whose mode is kNone.
// __thread and not thread_local: other files may then use it without asking whether it has been initialised.
extern __thread ThreadState* thread_state __attribute__((tls_model("initial-exec")));
extern ThreadState no_state;

// -- around an event -------------------------------------------------------------------------------------------------

// Called at the start of a hook with its frame address. Null: do not record, only forward. Otherwise the hook is marked
// as busy until leave(). `prepare` runs where it may be needed, before a thread's first event: it makes sure that the hook
// knows what to forward to.
[[gnu::noinline]] ThreadState* enter_slow(uintptr_t frame, void (*prepare)());
[[gnu::noinline]] void leave_slow(ThreadState* state);

// `bits` of wire::GuardBits describe the real call.
[[gnu::always_inline]] inline ThreadState* enter(uintptr_t frame, void (*prepare)(), uint64_t bits = 0) {
    ThreadState* state = thread_state;
    if (state->mode.load(std::memory_order_relaxed) != ThreadState::kReady ||
        state->slot->guard.load(std::memory_order_relaxed) != 0) [[unlikely]] {
        state = enter_slow(frame, prepare);
        if (!state) return nullptr;
    }
    // Released: who sees this also sees what the thread published before.
    state->slot->guard.store(frame | bits, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    return state;
}

// The real function has returned; from here on only the recorder is at work. To be called before the time of the return is
// looked up, which wire::kCountsAtEnd promises to be later.
[[gnu::always_inline]] inline void real_call_done(ThreadState* state, uintptr_t frame) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    state->slot->guard.store(frame | wire::kRecorderAtWork, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

// For a hook without a real call.
[[gnu::always_inline]] inline void no_real_call(ThreadState* state, uintptr_t frame) {
    real_call_done(state, frame);
    state->real_ticks = 0;
}

[[gnu::always_inline]] inline void leave(ThreadState* state) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (--state->until_slow_leave == 0) [[unlikely]]
        return leave_slow(state);
    state->slot->guard.store(0, std::memory_order_release);
}

// Brings the slot's statistics up to date.
void publish_statistics(ThreadState* state);

// -- life of states --------------------------------------------------------------------------------------------------

// Once per process image, by Session.
bool prepare_threads();
// In a forked child, where only the calling thread is left.
void forget_threads();
// Whether a hook of this thread has been interrupted by the signal handler that asks. `frame` is the asking hook's.
bool hook_is_interrupted(uintptr_t frame);
// In a child that such a handler has forked: the interrupted hook, too, must find a state when it goes on.
void repair_after_fork(uintptr_t frame);
// Called by a thread that finds `mode` kLoad, before its event, with the event's caller: what there is to do when code has
// come. False: the loader is still at work, and it is to be called again before the next event.
extern bool (*on_load)(ThreadState* state, const arch::CallerFrame& caller);
// This thread is about to load code; so many files have been loaded until now.
void expect_load(ThreadState* state, uint64_t loaded);

// Makes states in advance, for threads that begin when no more memory is to be had.
void reserve_states();

// Code is about to be, or has been, unloaded: every thread forgets what it knows about addresses before its next event.
void forget_code_in_all_threads();

} // namespace memtoll
