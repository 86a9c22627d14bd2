#include "thread_state.hpp"

#include "event_log.hpp"
#include "kernel.hpp"
#include "usage.hpp"

#include <cstring>
#include <new>
#include <pthread.h>
#include <sys/resource.h>
#include <utility>

extern "C" void* __libc_stack_end; // ld.so: where the main thread's stack begins, at its high end

// ld: the recorder's own first byte, and the end of its code.
extern "C" __attribute__((visibility("hidden"))) const char __ehdr_start[], etext[];

namespace memtoll {

ThreadState no_state;
bool (*on_load)(ThreadState* state, const arch::CallerFrame& caller) = nullptr;
__thread ThreadState* thread_state __attribute__((tls_model("initial-exec"))) = &no_state;

namespace {

// More than the threads that a process may have where each needs two of its mappings (vm.max_map_count, 65,530).
constexpr uint32_t kMaxSlots = 1 << 16;

// Where a thread stands that has no state of its own.
__thread uint32_t thread_number __attribute__((tls_model("initial-exec"))) = 0; // 0: never attached
__thread uint32_t exit_rounds __attribute__((tls_model("initial-exec"))) = 0;
__thread bool thread_is_ending __attribute__((tls_model("initial-exec"))) = false;

// By slot; those below the arena's slots_used are or were in use.
constinit std::atomic<ThreadState*> states[kMaxSlots]{};
constexpr uint32_t kNobody = UINT32_MAX;
std::atomic<uint64_t> free_slots{kNobody}; // (tag << 32) | slot: a stack
constinit std::atomic<uint32_t> next_free[kMaxSlots]{};

// Memory for states, each slab as large as all before it together: a mapping for each thread would take them from the
// threads' stacks.
constexpr unsigned kSlabs = 17;
static_assert(kMaxSlots <= (1u << kSlabs) - 1);
std::atomic<char*> slabs[kSlabs];

pthread_key_t exit_key;
bool has_exit_key = false;

unwind::Range own_code() {
    return {reinterpret_cast<uintptr_t>(__ehdr_start), reinterpret_cast<uintptr_t>(etext)};
}

uintptr_t stack_end_of_this_thread(uintptr_t stack_pointer) {
    // A thread's control block lies at the end of its stack; the main thread's lies elsewhere, below its stack.
    const auto self = static_cast<uintptr_t>(pthread_self());
    const auto main_end = reinterpret_cast<uintptr_t>(__libc_stack_end);
    const bool below_self = stack_pointer < self;
    const bool below_main_end = stack_pointer < main_end;
    return below_self && (!below_main_end || self < main_end) ? self : main_end;
}

void announce_module(void* owner, uint16_t number, const Module& module) {
    wire::ModuleBlob blob{};
    blob.start = module.start;
    blob.end = module.end;
    blob.bias = module.bias;
    blob.number = number;
    blob.build_id_bytes = module.build_id_bytes;
    memcpy(blob.build_id, module.build_id, sizeof blob.build_id);
    const char* path = module.path ? module.path : "";
    append_blob(static_cast<ThreadState*>(owner), wire::kModule, &blob, sizeof blob, path, strlen(path));
}

constexpr size_t kHeadBytes = (sizeof(ThreadState) + 63) & ~size_t{63};

// Memory that is wiped in a forked child, stored in `place`. Null if there is none.
template <class T> T* map_wiped(std::atomic<T*>& place, size_t bytes) {
    void* memory = kernel::map_private(bytes);
    if (!memory) return nullptr;
    T* there = nullptr;
    if (kernel::wipe_on_fork(memory, bytes) &&
        place.compare_exchange_strong(there, static_cast<T*>(memory), std::memory_order_acq_rel))
        return static_cast<T*>(memory);
    kernel::unmap(memory, bytes);
    return there;
}

// State `index` in its slab. Null if there is no memory for a whole slab.
ThreadState* in_slab(uint32_t index, size_t bytes) {
    const unsigned slab = 31 - static_cast<unsigned>(__builtin_clz(index + 1));
    const size_t states_in_slab = size_t{1} << slab;
    char* memory = slabs[slab].load(std::memory_order_acquire);
    if (!memory) {
        memory = map_wiped(slabs[slab], states_in_slab * bytes);
        if (!memory) return nullptr;
        // Most of a state is never touched.
        if (slab > 0) kernel::no_huge_pages(memory, states_in_slab * bytes);
    }
    return reinterpret_cast<ThreadState*>(memory + (index + 1 - states_in_slab) * bytes);
}

// Memory for state `index` and its stack cache. Null if there is none.
ThreadState* state_memory(uint32_t index) {
    constexpr size_t kPage = 4096;
    ThreadState* there = states[index].load(std::memory_order_acquire);
    if (there) return there;
    const size_t state = kHeadBytes + unwind::StackCache::memory_bytes(session.arena->stack_depth);
    const size_t bytes = (state + kPage - 1) & ~(kPage - 1);
    const uint64_t limit = session.is_limited() ? memory_limit() : RLIM_INFINITY;
    // A quarter of a limited memory at the most: the rest is the program's.
    if (limit != RLIM_INFINITY && index > 0 && index * bytes > limit / 4) return nullptr;
    ThreadState* memory = session.is_limited() ? nullptr : in_slab(index, bytes);
    if (!memory) return map_wiped(states[index], bytes);
    return states[index].compare_exchange_strong(there, memory, std::memory_order_acq_rel) ? memory : there;
}

ThreadState* new_state(uint32_t index) {
    void* memory = state_memory(index);
    if (!memory) return nullptr;
    auto* state = new (memory) ThreadState;
    state->index = index;
    state->slot = session.slots() + index;
    state->stacks.memory = reinterpret_cast<char*>(state) + kHeadBytes;
    state->stacks.start(&session.tree, session.arena->stack_depth, announce_module, state);
    return state;
}

// A slot that no thread uses: recycled if possible, else a new one. kNobody when there are too many threads.
uint32_t acquire_slot() {
    uint64_t head = free_slots.load(std::memory_order_acquire);
    while (static_cast<uint32_t>(head) != kNobody) {
        const auto index = static_cast<uint32_t>(head);
        const uint64_t tag = (head >> 32) + 1;
        const uint64_t next = next_free[index].load(std::memory_order_relaxed);
        if (free_slots.compare_exchange_weak(head, tag << 32 | next, std::memory_order_acq_rel)) return index;
    }
    wire::ArenaHeader* arena = session.arena;
    uint32_t index = arena->slots_used.load(std::memory_order_relaxed);
    do {
        // A chunk for each slot, and one to go round.
        if (index >= kMaxSlots || index >= arena->max_slots || index + 1 >= arena->max_chunks) return kNobody;
    } while (!arena->slots_used.compare_exchange_weak(index, index + 1, std::memory_order_acq_rel));
    return index;
}

void release_slot(uint32_t index) {
    uint64_t head = free_slots.load(std::memory_order_acquire);
    uint64_t tag;
    do {
        next_free[index].store(static_cast<uint32_t>(head), std::memory_order_relaxed);
        tag = (head >> 32) + 1;
    } while (!free_slots.compare_exchange_weak(head, tag << 32 | index, std::memory_order_acq_rel));
}

// A state that no thread uses. Null when there are too many threads, or no memory.
ThreadState* acquire_state() {
    const uint32_t index = acquire_slot();
    if (index == kNobody) return nullptr;
    ThreadState* state = states[index].load(std::memory_order_acquire);
    if (!state || !state->slot) state = new_state(index);
    if (!state) release_slot(index);
    return state;
}

void release_state(ThreadState* state) { release_slot(state->index); }

void begin_thread(ThreadState* state, uintptr_t stack_pointer) {
    if (thread_number == 0) thread_number = session.arena->threads_begun.fetch_add(1, std::memory_order_relaxed) + 1;
    state->stacks.set_stack_end(stack_end_of_this_thread(stack_pointer));
    state->cost_at_begin = state->cost.ticks();
    make_room(state, wire::kWaitsBetween);
    const uint64_t time = now();
    append(state, wire::kThreadBegin, time, time, static_cast<uint64_t>(pthread_self()), thread_number,
           kernel::thread_id());
    publish(state);
}

// Gives this thread a state. Null when there is none to be had.
ThreadState* attach(uintptr_t frame, bool borrowed) {
    const uint64_t start = now();
    ThreadState* state = acquire_state();
    if (!state) {
        session.arena->dropped.fetch_add(1, std::memory_order_relaxed);
        return nullptr;
    }
    state->borrowed = borrowed;
    state->loads = false;
    // Busy from here on: the supervisor must not take the slot for idle while its first event is being written.
    state->slot->guard.store(frame | wire::kRecorderAtWork, std::memory_order_relaxed);
    state->until_slow_leave = 1;
    state->cost.begin_first(start);
    begin_thread(state, frame);
    if (state->mode.load(std::memory_order_relaxed) == ThreadState::kCheck) state->stacks.forget_code();
    state->mode.store(ThreadState::kReady, std::memory_order_relaxed);
    if (borrowed) return state;
    thread_state = state;
    if (has_exit_key) pthread_setspecific(exit_key, state);
    return state;
}

// Runs when a thread ends, among the destructors of its other thread-specific data. Those may still allocate and free,
// so the state is kept through as many rounds as there are.
void thread_exit(void* value) {
    auto* state = static_cast<ThreadState*>(value);
    if (state != thread_state) return; // wiped by a fork
    if (++exit_rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(exit_key, value);
        return;
    }
    thread_is_ending = true;
    thread_state = &no_state;
    if (state->mode.load(std::memory_order_relaxed) == ThreadState::kNone) return;
    state->slot->guard.store(wire::kRecorderAtWork, std::memory_order_relaxed);
    state->cost.abandon(); // a last event may have been left by pthread_exit
    append_usage(state, wire::UsageBlob::kThread);
    publish_statistics(state);
    const uint64_t time = now();
    append(state, wire::kThreadEnd, time, time, state->cost.ticks() - state->cost_at_begin, 0, 0);
    publish(state);
    state->slot->guard.store(0, std::memory_order_release);
    release_state(state);
}

bool change_mode(ThreadState* state, ThreadState::Mode from, ThreadState::Mode to) {
    uint32_t expected = from;
    return state->mode.compare_exchange_strong(expected, to, std::memory_order_acq_rel);
}

// Whether a hook is called by the real function of another one, as each operator new's malloc is, and that is known without
// a look at the stack, because it has been looked at before.
inline bool is_known_inside(const ThreadState* state, uintptr_t frame) {
    if (state->mode.load(std::memory_order_relaxed) != ThreadState::kReady) return false;
    const uint64_t guard = state->slot->guard.load(std::memory_order_relaxed);
    const bool in_real_call = guard != 0 && (guard & wire::kRecorderAtWork) == 0;
    if (!in_real_call) return false;
    const arch::CallerFrame caller = arch::caller_frame(reinterpret_cast<const uintptr_t*>(frame));
    return state->stacks.is_called_directly(caller, own_code());
}

// enter_slow without the timing of the recorder itself, for what is_known_inside could not answer.
ThreadState* enter_untimed(uintptr_t frame, void (*prepare)()) {
    prepare();
    ThreadState* state = thread_state;
    if (session.state.load(std::memory_order_acquire) == Session::kOff) return nullptr;
    if (state->mode.load(std::memory_order_relaxed) == ThreadState::kNone) {
        if (session.is_parents()) {
            // This is a forked child, and this thread is the only one in it. Its own state, if it had one, is wiped.
            thread_state = &no_state;
            if (!session.restart_in_child()) return nullptr;
        }
        if (!session.ready()) return nullptr;
        // A thread's last frees come after its state is gone; each of them borrows one.
        return attach(frame, thread_is_ending);
    }
    if (state->mode.load(std::memory_order_relaxed) == ThreadState::kCheck) {
        state->mode.store(ThreadState::kReady, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        state->stacks.forget_code();
    }
    if (state->loads) [[unlikely]] {
        change_mode(state, ThreadState::kLoad, ThreadState::kReady);
        state->loads = !on_load(state, arch::caller_frame(reinterpret_cast<const uintptr_t*>(frame)));
        if (state->loads) change_mode(state, ThreadState::kReady, ThreadState::kLoad);
    }
    const uint64_t guard = state->slot->guard.load(std::memory_order_relaxed);
    if (guard == 0) return state;
    // Called from a hook's inside: by the real function, and then it is the allocator's own call, not the program's; or by
    // a signal handler. Unless the hook that set the guard is gone, because an exception (std::bad_alloc) or a longjmp
    // went through it.
    using Found = unwind::StackCache::Found;
    const arch::CallerFrame caller = arch::caller_frame(reinterpret_cast<const uintptr_t*>(frame));
    const bool in_real_call = (guard & wire::kRecorderAtWork) == 0;
    if (in_real_call) {
        state->slot->guard.store(guard | wire::kRecorderAtWork, std::memory_order_relaxed);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        const Found found = state->stacks.find_caller_in(caller, own_code());
        std::atomic_signal_fence(std::memory_order_seq_cst);
        state->slot->guard.store(guard, std::memory_order_relaxed);
        if (found == Found::kNo) {
            state->cost.abandon();
            return state;
        }
        if (found != Found::kInterrupted) return nullptr;
    }
    // The interrupted hook will go on with its state, whose stack cache may be half-changed.
    ThreadState* other = attach(frame, true);
    if (!other) return nullptr;
    const Found found = in_real_call ? Found::kInterrupted : other->stacks.find_caller_in(caller, own_code());
    if (found == Found::kInterrupted || found == Found::kUnknown) {
        session.arena->nested.fetch_add(1, std::memory_order_relaxed);
        return other;
    }
    leave(other);
    if (found == Found::kCaller) return nullptr;
    state->slot->waiting.store(wire::kNotWaiting, std::memory_order_relaxed);
    state->cost.abandon();
    return state;
}

} // namespace

ThreadState* enter_slow(uintptr_t frame, void (*prepare)()) {
    ThreadState* state = thread_state;
    if (state->cost.timing()) { // it has called this hook, or has been left by an exception
        const uint64_t start = now();
        ThreadState* entered = is_known_inside(state, frame) ? nullptr : enter_untimed(frame, prepare);
        if (!entered) state->cost.add_nested(now() - start);
        return entered;
    }
    if (is_known_inside(state, frame)) [[likely]] return nullptr;
    const uint32_t mode = state->mode.load(std::memory_order_relaxed);
    if (mode != ThreadState::kTime && mode != ThreadState::kCheck && mode != ThreadState::kLoad)
        return enter_untimed(frame, prepare);
    const uint64_t start = now();
    const bool regular = change_mode(state, ThreadState::kTime, ThreadState::kReady);
    ThreadState* entered = enter_untimed(frame, prepare);
    if (entered != state) return entered;
    state->until_slow_leave = 1;
    if (regular) {
        state->overlap.begin(state->real_ticks);
        state->cost.begin(now()); // without what other events do not do
    } else {
        state->overlap.begin(0);
        state->cost.begin_rare(start);
    }
    return entered;
}

void leave_slow(ThreadState* state) {
    if (state->cost.timing()) {
        state->cost.end(now(), state->real_ticks);
        state->overlap.end(state->real_ticks);
        publish_statistics(state);
        state->until_slow_leave = state->cost.interval() - 1;
    }
    // Where the interval is over with the next event, that is the one to be timed.
    if (state->until_slow_leave == 0) {
        state->until_slow_leave = 1;
        change_mode(state, ThreadState::kReady, ThreadState::kTime);
    }
    state->slot->guard.store(0, std::memory_order_release);
    if (!state->borrowed) return;
    state->borrowed = false;
    release_state(state);
}

void publish_statistics(ThreadState* state) {
    wire::ThreadSlot* slot = state->slot;
    const unwind::StackCache& stacks = state->stacks;
    slot->walks.store(stacks.walks, std::memory_order_relaxed);
    slot->walked_frames.store(stacks.walked_frames, std::memory_order_relaxed);
    slot->full_walks.store(stacks.full_walks, std::memory_order_relaxed);
    slot->rule_misses.store(stacks.rule_misses, std::memory_order_relaxed);
    slot->recorder_ticks.store(state->cost.ticks(), std::memory_order_relaxed);
    slot->overlap_pairs.store(state->overlap.pairs(), std::memory_order_relaxed);
    slot->overlap_ticks.store(state->overlap.ticks(), std::memory_order_relaxed);
}

bool prepare_threads() {
    has_exit_key = pthread_key_create(&exit_key, thread_exit) == 0;
    return has_exit_key;
}

void forget_threads() {
    free_slots.store(kNobody, std::memory_order_relaxed);
    thread_number = 0;
}

bool hook_is_interrupted(uintptr_t frame) {
    ThreadState* state = thread_state;
    if (state->mode.load(std::memory_order_relaxed) == ThreadState::kNone) return false;
    if (state->slot->guard.load(std::memory_order_relaxed) != 0) return true;
    // It may have been about to set the guard.
    const arch::CallerFrame caller = arch::caller_frame(reinterpret_cast<const uintptr_t*>(frame));
    return state->stacks.find_caller_in(caller, own_code()) != unwind::StackCache::Found::kNo;
}

void repair_after_fork(uintptr_t frame) {
    ThreadState* const interrupted = thread_state;
    if (interrupted->mode.load(std::memory_order_relaxed) != ThreadState::kNone) return;
    session.restart_in_child();
    if (!state_memory(0)) return; // it was the parent's first thread's
    // The first slot of the new arena, but the memory that the hook holds on to.
    for (std::atomic<ThreadState*>& state : states)
        if (state == interrupted) state = states[0].exchange(interrupted);
    if (ThreadState* state = attach(frame, false)) leave(state);
    // What the hook still has in its hands it found in the parent: it must not stay in the caches.
    interrupted->mode.store(ThreadState::kCheck, std::memory_order_relaxed);
}

void reserve_states() {
    constexpr uint32_t kReserve = 64;
    if (session.is_limited()) return; // that memory is the program's
    const uint32_t used = session.arena->slots_used.load(std::memory_order_acquire);
    for (uint32_t i = used; i < used + kReserve && i < kMaxSlots && i < session.arena->max_slots; ++i) state_memory(i);
}

void expect_load(ThreadState* state, uint64_t loaded) {
    if (!state->loads) state->loaded_before = loaded;
    state->loads = true;
    if (!change_mode(state, ThreadState::kReady, ThreadState::kLoad))
        change_mode(state, ThreadState::kTime, ThreadState::kLoad);
}

void forget_code_in_all_threads() {
    if (session.state.load(std::memory_order_acquire) != Session::kRecording) return;
    const uint32_t used = session.arena->slots_used.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < used && i < kMaxSlots; ++i) {
        ThreadState* state = states[i];
        if (!state) continue;
        uint32_t mode = state->mode.load(std::memory_order_relaxed);
        while ((mode == ThreadState::kReady || mode == ThreadState::kTime || mode == ThreadState::kLoad) &&
               !state->mode.compare_exchange_weak(mode, ThreadState::kCheck, std::memory_order_acq_rel)) {}
    }
}

} // namespace memtoll
