#include "thread_life.hpp"

#include "../dynamic_section.hpp"
#include "../kernel.hpp"
#include "../resource_usage.hpp"
#include "stack_end.hpp"
#include "state_pool.hpp"
#include "thread_id.hpp"

#include <pthread.h>

namespace memtoll {
namespace {

// Where a thread stands that has no state of its own.
__thread uint32_t thread_number __attribute__((tls_model("initial-exec"))) = 0; // 0: never attached
__thread uint32_t exit_rounds __attribute__((tls_model("initial-exec"))) = 0;
__thread bool thread_is_ending __attribute__((tls_model("initial-exec"))) = false;

// Before glibc 2.34 these belong to libpthread, which a program without threads need not load. Looked for by their names: the
// recorder must load all the same.
int (*key_create)(pthread_key_t*, void (*)(void*)) = nullptr;
int (*set_specific)(pthread_key_t, const void*) = nullptr;

pthread_key_t exit_key;
std::atomic<bool> has_exit_key{false};

void begin_thread(ThreadState* state, uintptr_t stack_pointer) {
    if (thread_number == 0) thread_number = session.arena->threads_begun.fetch_add(1, std::memory_order_relaxed) + 1;
    state->stacks.set_stack_end(stack_end_of_this_thread(stack_pointer));
    state->cost_at_begin = state->cost.ticks();
    make_room(state->log, wire::kWaitsBetween);
    const uint64_t time = now();
    append(state->log, wire::kThreadBegin, time, time, static_cast<uint64_t>(pthread_self()), thread_number,
           thread_id());
    publish(state->log);
}

// Whether an interrupted hook of the calling thread goes on with this state, which is its own.
bool is_held(const ThreadState& state) {
    return state.log.slot && state.log.slot->guard.load(std::memory_order_relaxed) != 0;
}

// What the calling thread had as its own state.
struct Own {
    ThreadState* state; // null: it has none, or an interrupted hook goes on with it
    bool is_begun;      // a signal handler that came before this has begun with it, and events are recorded with it
};

// Takes the thread's state in one instruction. A signal handler that comes later finds none and makes another one. Where a handler came
// earlier and has begun with the state, what it recorded stays.
Own take_own() {
    ThreadState* const own = __atomic_exchange_n(&thread_state, &no_state, __ATOMIC_RELAXED);
    if (own == &no_state || own->epoch == 0 || is_held(*own)) return {nullptr, false};
    return {own, own->epoch == session.epoch.load(std::memory_order_acquire) && own->how() != ThreadState::kNone};
}

// Runs when a thread ends, among the destructors of its other thread-specific data. Those may still allocate and free,
// so the state is kept through as many rounds as there are.
void thread_exit(void* value) {
    const Session::Changing changing(session);
    auto* state = static_cast<ThreadState*>(value);
    if (state != thread_state || state->epoch == 0) return; // wiped by a fork
    if (++exit_rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
        set_specific(exit_key, value);
        return;
    }
    thread_is_ending = true;
    thread_state = &no_state;
    if (state->epoch != session.epoch.load(std::memory_order_acquire)) {
        if (!is_held(*state)) state_pool::release(state);
        return;
    }
    if (state->how() == ThreadState::kNone) return;
    state->log.slot->guard.store(wire::kRecorderAtWork, std::memory_order_relaxed);
    state->cost.abandon(); // a last event may have been left by pthread_exit
    append_usage(state->log, wire::UsageBlob::kThread);
    publish_statistics(state);
    const uint64_t time = now();
    append(state->log, wire::kThreadEnd, time, time, state->cost.ticks() - state->cost_at_begin, 0, 0);
    publish(state->log);
    state->log.slot->guard.store(0, std::memory_order_release);
    state_pool::release(state);
}

// False if the program has no threads, as far as its libraries tell.
bool find_functions() {
    Wanted wanted[2];
    find_symbols("pthread_key_create\0pthread_setspecific", wanted, 2, Where::kAnywhere);
    key_create = reinterpret_cast<decltype(key_create)>(wanted[0].found);
    set_specific = reinterpret_cast<decltype(set_specific)>(wanted[1].found);
    return key_create && set_specific;
}

// Whether the end of a thread that begins now will be noticed. Tried again with each thread: a library with threads may have
// been loaded meanwhile.
bool notices_ends() {
    static std::atomic<bool> making{false};
    if (has_exit_key.load(std::memory_order_acquire)) return true;
    if (!find_functions() || making.exchange(true, std::memory_order_acquire)) return false;
    if (key_create(&exit_key, thread_exit) != 0) return false;
    has_exit_key.store(true, std::memory_order_release);
    return true;
}

} // namespace

bool prepare_threads() { return notices_ends() || !find_functions(); }

void forget_threads() {
    state_pool::clear();
    thread_number = 0;
}

bool is_ending() { return thread_is_ending; }

ThreadState* attach(arch::HookFrame frame, bool borrowed) {
    const BeginOfRare start = BeginOfRare::now();
    const Session::Changing changing(session);
    if (session.state.load(std::memory_order_seq_cst) != Session::kRecording) return nullptr; // the next supervisor comes
    const Own own = borrowed ? Own{nullptr, false} : take_own();
    if (own.is_begun) return thread_state = own.state;
    ThreadState* state = own.state ? state_pool::renew(own.state) : nullptr;
    if (!state) state = state_pool::acquire();
    if (!state) {
        session.arena->dropped.fetch_add(1, std::memory_order_relaxed);
        return nullptr;
    }
    state->borrowed = borrowed;
    state->loads = false;
    // Busy from here on: the supervisor must not take the slot for idle while its first event is being written.
    state->log.slot->guard.store(frame.address | wire::kRecorderAtWork, std::memory_order_relaxed);
    state->until_slow_leave = 1;
    state->cost.begin_first(start);
    state->waited_at_begin = state->log.waited;
    begin_thread(state, frame.address);
    if (state->how() == ThreadState::kCheck) state->stacks.forget_code();
    state->mode.store(ThreadState::kReady, std::memory_order_seq_cst);
    // Another supervisor has come meanwhile.
    if (state->epoch != session.epoch.load(std::memory_order_seq_cst)) state->mode.store(ThreadState::kNone, std::memory_order_relaxed);
    if (borrowed) return state;
    thread_state = state;
    if (notices_ends()) set_specific(exit_key, state);
    return state;
}

void publish_statistics(ThreadState* state) {
    wire::ThreadSlot* slot = state->log.slot;
    const unwind::StackCache& stacks = state->stacks;
    slot->walks.store(stacks.walks, std::memory_order_relaxed);
    slot->walked_frames.store(stacks.walked_frames, std::memory_order_relaxed);
    slot->full_walks.store(stacks.full_walks, std::memory_order_relaxed);
    slot->rule_misses.store(stacks.rule_misses(), std::memory_order_relaxed);
    slot->recorder_ticks.store(state->cost.ticks(), std::memory_order_relaxed);
    slot->overlap_pairs.store(state->overlap.pairs(), std::memory_order_relaxed);
    slot->overlap_ticks.store(state->overlap.ticks(), std::memory_order_relaxed);
}

} // namespace memtoll
