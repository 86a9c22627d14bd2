#include "state_pool.hpp"

#include "../footprint.hpp"
#include "../kernel.hpp"

#include <cstring>
#include <new>
#include <sys/resource.h>

namespace memtoll {

ThreadState no_state;
__thread ThreadState* thread_state __attribute__((tls_model("initial-exec"))) = &no_state;

namespace state_pool {

namespace {

constinit Group first_group{};

} // namespace

constinit std::atomic<Group*> groups[kMaxStates / Group::kStates]{&first_group};

namespace {

constexpr uint32_t kNobody = UINT32_MAX;
std::atomic<uint64_t> free_slots{kNobody}; // (tag << 32) | slot: a stack

// Memory for states, each slab as large as all before it together: a mapping for each thread would take them from the
// threads' stacks.
constexpr unsigned kSlabs = 17;
static_assert(kMaxStates <= (1u << kSlabs) - 1);
std::atomic<char*> slabs[kSlabs];

constexpr size_t kHeadBytes = (sizeof(ThreadState) + 63) & ~size_t{63};

void announce_module(void* owner, uint16_t number, const Module& module) {
    wire::ModuleBlob blob{};
    blob.start = module.start;
    blob.end = module.end;
    blob.bias = module.bias;
    blob.number = number;
    blob.build_id_bytes = module.build_id_bytes;
    memcpy(blob.build_id, module.build_id, sizeof blob.build_id);
    blob.functions_hash = module.functions_hash;
    const char* path = module.path ? module.path : "";
    append_blob(static_cast<ThreadState*>(owner)->log, wire::kModule, &blob, sizeof blob, path, strlen(path));
}

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

// The group of slot `index`. Null if there is no memory. A forked child needs what it says.
Group* need_group(uint32_t index) {
    std::atomic<Group*>& place = groups[index / Group::kStates];
    Group* there = place.load(std::memory_order_acquire);
    if (there) return there;
    auto* group = static_cast<Group*>(kernel::map_private(sizeof(Group)));
    if (!group || place.compare_exchange_strong(there, group, std::memory_order_acq_rel)) return group;
    kernel::unmap(group, sizeof(Group));
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
        kernel::no_huge_pages(memory, states_in_slab * bytes);
    }
    return reinterpret_cast<ThreadState*>(memory + (index + 1 - states_in_slab) * bytes);
}

// Frames. The memory of states is made once.
std::atomic<uint32_t> room_for_depth{0};

size_t state_bytes() {
    uint32_t depth = 0;
    if (room_for_depth.compare_exchange_strong(depth, session.arena->stack_depth, std::memory_order_relaxed))
        depth = session.arena->stack_depth;
    return kernel::whole_pages(kHeadBytes + unwind::StackCache::memory_bytes(depth));
}

// Memory for state `index` and its stack cache. Null if there is none.
ThreadState* state_memory(uint32_t index) {
    Group* group = need_group(index);
    if (!group) return nullptr;
    std::atomic<ThreadState*>& place = group->states[index % Group::kStates];
    ThreadState* there = place.load(std::memory_order_acquire);
    if (there) return there;
    const size_t bytes = state_bytes();
    const uint64_t limit = session.is_limited() ? memory_limit() : RLIM_INFINITY;
    // A quarter of a limited memory at the most: the rest is the program's.
    if (limit != RLIM_INFINITY && (index + 1) * bytes > limit / 4) return nullptr;
    ThreadState* memory = session.is_limited() ? nullptr : in_slab(index, bytes);
    if (!memory) return map_wiped(place, bytes);
    return place.compare_exchange_strong(there, memory, std::memory_order_acq_rel) ? memory : there;
}

ThreadState* new_state(uint32_t index) {
    ThreadState* memory = state_memory(index);
    if (!memory) return nullptr;
    if (memory->epoch != 0) kernel::zero(memory, state_bytes());
    auto* state = new (memory) ThreadState;
    state->index = index;
    state->epoch = session.epoch.load(std::memory_order_relaxed);
    state->log.slot = session.slots() + index;
    state->stacks.memory = reinterpret_cast<char*>(state) + kHeadBytes;
    state->stacks.start(&session.tree, session.arena->stack_depth, announce_module, state, footprint::take);
    if (index == 0) {
        Module of_malloc;
        module_at(session.arena->malloc, of_malloc, announce_module, state);
    }
    // With the first chunk: each look at the recorder's memory takes five system calls, 10 us.
    constexpr size_t kUsedSoon = (80 << 10) + sizeof(wire::Chunk);
    footprint::grow(kUsedSoon);
    return state;
}

// A slot that no thread uses: recycled if possible, else a new one. kNobody when there are too many threads.
uint32_t acquire_slot() {
    uint64_t head = free_slots.load(std::memory_order_acquire);
    while (static_cast<uint32_t>(head) != kNobody) {
        const auto index = static_cast<uint32_t>(head);
        const uint64_t tag = (head >> 32) + 1;
        const uint64_t next = group_of(index)->next_free[index % Group::kStates].load(std::memory_order_relaxed);
        if (free_slots.compare_exchange_weak(head, tag << 32 | next, std::memory_order_acq_rel)) return index;
    }
    wire::ArenaHeader* arena = session.arena;
    uint32_t index = arena->slots_used.load(std::memory_order_relaxed);
    do {
        // A chunk for each slot, and one to go round.
        if (index >= kMaxStates || index >= arena->max_slots || index + 1 >= arena->max_chunks) return kNobody;
        if (!need_group(index)) return kNobody;
    } while (!arena->slots_used.compare_exchange_weak(index, index + 1, std::memory_order_acq_rel));
    return index;
}

void release_slot(uint32_t index) {
    uint64_t head = free_slots.load(std::memory_order_acquire);
    uint64_t tag;
    do {
        group_of(index)->next_free[index % Group::kStates].store(static_cast<uint32_t>(head), std::memory_order_relaxed);
        tag = (head >> 32) + 1;
    } while (!free_slots.compare_exchange_weak(head, tag << 32 | index, std::memory_order_acq_rel));
}

} // namespace

ThreadState* acquire() {
    const uint32_t index = acquire_slot();
    if (index == kNobody) return nullptr;
    ThreadState* state = state_at(index);
    const bool is_new = !state || !state->log.slot || state->epoch != session.epoch.load(std::memory_order_relaxed);
    if (is_new) state = new_state(index);
    if (!state) release_slot(index);
    return state;
}

void release(ThreadState* state) { release_slot(state->index); }

bool retire() {
    if (!session.arena) return false;
    const uint32_t last = session.epoch.load(std::memory_order_relaxed) - 1;
    bool is_held = false;
    for_each([&](ThreadState& state) {
        if (state.epoch == 0) return; // wiped by a fork
        state.mode.store(ThreadState::kNone, std::memory_order_seq_cst);
        // The last one's arena stays: a thread may be about to enter a hook with this.
        if (state.epoch == last || !state.log.slot) return;
        if (state.log.slot->guard.load(std::memory_order_acquire) == 0) state.log = {};
        else is_held = true;
    });
    return is_held;
}

ThreadState* renew(ThreadState* state) {
    const uint32_t index = state->index;
    return index < session.arena->max_slots && state_at(index) == state ? new_state(index) : nullptr;
}

uint32_t most_stack_depth() { return room_for_depth.load(std::memory_order_relaxed); }

void clear() { free_slots.store(kNobody, std::memory_order_relaxed); }

void reserve() {
    constexpr uint32_t kReserve = 64;
    if (session.is_limited()) return; // that memory is the program's
    const uint32_t used = session.arena->slots_used.load(std::memory_order_acquire);
    for (uint32_t i = used; i < used + kReserve && i < kMaxStates && i < session.arena->max_slots; ++i) state_memory(i);
}

size_t resident_bytes() {
    size_t bytes = 0;
    for_each([&](const ThreadState& state) {
        bytes += kernel::resident(reinterpret_cast<uintptr_t>(&state), state_bytes());
    });
    return bytes;
}

bool move_to_front(ThreadState* state) {
    if (!state_memory(0)) return false; // it was the parent's first thread's
    std::atomic<ThreadState*>& front = first_group.states[0];
    for (std::atomic<Group*>& group : groups)
        if (Group* known = group.load(std::memory_order_acquire))
            for (std::atomic<ThreadState*>& place : known->states)
                if (place == state) place = front.exchange(state);
    return true;
}

} // namespace state_pool
} // namespace memtoll
