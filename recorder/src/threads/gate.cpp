#include "gate.hpp"

#include "../clock.hpp"
#include "../recording.hpp"
#include "gate_table.hpp"
#include "recording_start.hpp"
#include "state_pool.hpp"
#include "thread_life.hpp"

// ld: the recorder's own first byte, and the end of its code.
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[], etext[];

namespace memtoll {

bool (*on_load)(ThreadState* state, const arch::CallerFrame& caller) = nullptr;

namespace {

using Found = unwind::CallerSearch::Found;

unwind::Range own_code() {
    return {reinterpret_cast<uintptr_t>(__ehdr_start), reinterpret_cast<uintptr_t>(etext)};
}

// Whether a hook is called by the real function of another one, as each operator new's malloc is, and that is known without
// a look at the stack, because it has been looked at before.
inline bool is_known_inside(const ThreadState* state, arch::HookFrame frame) {
    if (state->how() != ThreadState::kReady) return false;
    if (holder_of(state->log.slot->guard.load(std::memory_order_relaxed)) != Holder::kRealCall) return false;
    return state->stacks.is_called_directly(arch::caller_frame(frame), own_code());
}

// The first event of a thread, or of a process, or one of a thread's last.
ThreadState* begin_here(arch::HookFrame frame, Standing standing) {
    if (standing == Standing::kForkedChild) {
        // This thread is the only one here. Its own state, if it had one, is wiped.
        thread_state = &no_state;
        if (!restart_in_child()) return nullptr;
    }
    return recording() ? attach(frame, is_ending()) : nullptr;
}

void forget_code(ThreadState* state) {
    const Session::Changing changing(session);
    if (!state->change_mode(ThreadState::kCheck, ThreadState::kReady)) return;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    state->stacks.forget_code();
}

void finish_load(ThreadState* state, arch::HookFrame frame) {
    const Session::Changing changing(session);
    state->change_mode(ThreadState::kLoad, ThreadState::kReady);
    state->loads = !on_load(state, arch::caller_frame(frame));
    if (state->loads) state->change_mode(ThreadState::kReady, ThreadState::kLoad);
}

// Looks for a hook among the callers, with the thread's own state, whose hook's real function is at work.
Found search_in_real_call(ThreadState* state, arch::HookFrame frame, uint64_t guard) {
    state->log.slot->guard.store(guard | wire::kRecorderAtWork, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const Found found = state->stacks.find_caller_in(arch::caller_frame(frame), own_code());
    std::atomic_signal_fence(std::memory_order_seq_cst);
    state->log.slot->guard.store(guard, std::memory_order_relaxed);
    return found;
}

// The state with which an event of a thread is recorded that has one of its own. Null: it is not recorded.
ThreadState* pass_guard(ThreadState* state, arch::HookFrame frame) {
    const uint64_t guard = state->log.slot->guard.load(std::memory_order_relaxed);
    const Holder holder = holder_of(guard);
    if (holder == Holder::kNobody) return state;
    // A recorder at work may be in the middle of its stack cache: then the search takes another one.
    ThreadState* other = holder == Holder::kRecorder ? attach(frame, true) : nullptr;
    if (holder == Holder::kRecorder && !other) return nullptr;
    const Found found = other ? other->stacks.find_caller_in(arch::caller_frame(frame), own_code())
                              : search_in_real_call(state, frame, guard);
    const Verdict what = verdict(holder, found);
    if (what == Verdict::kBorrow) {
        if (!other) other = attach(frame, true);
        if (other) session.arena->nested.fetch_add(1, std::memory_order_relaxed);
        return other;
    }
    if (other) leave(other);
    if (what == Verdict::kPass) return nullptr;
    state->log.slot->waiting.store(wire::kNotWaiting, std::memory_order_relaxed);
    state->cost.abandon();
    return state;
}

// enter_slow without the timing of the recorder itself, for what is_known_inside could not answer.
ThreadState* enter_untimed(arch::HookFrame frame, void (*prepare)()) {
    prepare();
    const bool is_new = thread_state->how() == ThreadState::kNone;
    if (is_new && session.state.load(std::memory_order_acquire) == Session::kRecording && !session.is_parents() &&
        !recording_start::is_reached(frame))
        return nullptr;
    // A signal handler that has interrupted the wait has perhaps begun with the thread's state.
    ThreadState* state = thread_state;
    const auto is_parents = [] { return session.is_parents(); };
    const Standing where = standing(session.state.load(std::memory_order_acquire), state->how(), is_parents);
    switch (where) {
    case Standing::kOff: return nullptr;
    case Standing::kForkedChild:
    case Standing::kNew: return begin_here(frame, where);
    case Standing::kCodeGone: forget_code(state); break;
    case Standing::kKnown: break;
    }
    if (state->loads) [[unlikely]]
        finish_load(state, frame);
    return pass_guard(state, frame);
}

} // namespace

MEMTOLL_ALIGNS_STACK ThreadState* enter_slow(arch::HookFrame frame, void (*prepare)()) {
    ThreadState* state = thread_state;
    if (state->cost.timing()) { // it has called this hook, or has been left by an exception
        const uint64_t start = now();
        ThreadState* entered = is_known_inside(state, frame) ? nullptr : enter_untimed(frame, prepare);
        if (!entered) state->cost.add_nested(now() - start);
        return entered;
    }
    if (is_known_inside(state, frame)) [[likely]] return nullptr;
    const ThreadState::Mode mode = state->how();
    if (mode == ThreadState::kNone || mode == ThreadState::kReady) return enter_untimed(frame, prepare);
    const BeginOfRare start = mode == ThreadState::kTime ? BeginOfRare{} : BeginOfRare::now();
    const uint64_t waited = state->log.waited;
    const bool regular = state->change_mode(ThreadState::kTime, ThreadState::kReady);
    ThreadState* entered = enter_untimed(frame, prepare);
    if (entered != state) return entered;
    state->until_slow_leave = 1;
    if (regular) {
        state->waited_at_begin = state->log.waited;
        state->overlap.begin(state->real_ticks);
        state->cost.begin(now()); // without what other events do not do
    } else {
        state->waited_at_begin = waited; // a load waits for the supervisor's plan
        state->overlap.begin(0);
        state->cost.begin_rare(start);
    }
    return entered;
}

MEMTOLL_ALIGNS_STACK void leave_slow(ThreadState* state) {
    if (state->cost.timing()) {
        state->cost.leave_out(state->log.waited - state->waited_at_begin);
        state->cost.end(now(), state->real_ticks);
        state->overlap.end(state->real_ticks);
        publish_statistics(state);
        state->until_slow_leave = state->cost.interval() - 1;
    }
    // Where the interval is over with the next event, that is the one to be timed.
    if (state->until_slow_leave == 0) {
        state->until_slow_leave = 1;
        state->change_mode(ThreadState::kReady, ThreadState::kTime);
    }
    // The next event finds that recording is over.
    if (state->log.is_over && !state->change_mode(ThreadState::kReady, ThreadState::kCheck))
        state->change_mode(ThreadState::kTime, ThreadState::kCheck);
    state->log.slot->guard.store(0, std::memory_order_release);
    if (!state->borrowed) return;
    state->borrowed = false;
    state_pool::release(state);
}

bool hook_is_interrupted(arch::HookFrame frame) {
    ThreadState* state = thread_state;
    if (state->how() == ThreadState::kNone) return false;
    if (state->log.slot->guard.load(std::memory_order_relaxed) != 0) return true;
    // It may have been about to set the guard.
    return state->stacks.find_caller_in(arch::caller_frame(frame), own_code()) != unwind::CallerSearch::kNo;
}

void repair_after_fork(arch::HookFrame frame) {
    ThreadState* const interrupted = thread_state;
    if (interrupted->how() != ThreadState::kNone) return;
    restart_in_child();
    // The first slot of the new arena, but the memory that the hook holds on to.
    if (!state_pool::move_to_front(interrupted)) return;
    if (ThreadState* state = attach(frame, false)) leave(state);
    // What the hook still has in its hands it found in the parent: it must not stay in the caches.
    interrupted->mode.store(ThreadState::kCheck, std::memory_order_relaxed);
}

void expect_load(ThreadState* state, uint64_t loaded) {
    if (!state->loads) state->loaded_before = loaded;
    state->loads = true;
    if (!state->change_mode(ThreadState::kReady, ThreadState::kLoad))
        state->change_mode(ThreadState::kTime, ThreadState::kLoad);
}

void forget_code_in_all_threads() {
    if (session.state.load(std::memory_order_acquire) != Session::kRecording) return;
    state_pool::for_each([](ThreadState& state) {
        uint32_t mode = state.how();
        while ((mode == ThreadState::kReady || mode == ThreadState::kTime || mode == ThreadState::kLoad) &&
               !state.mode.compare_exchange_weak(mode, ThreadState::kCheck, std::memory_order_acq_rel)) {}
    });
}

} // namespace memtoll
