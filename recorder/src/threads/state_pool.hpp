// The states of all threads: as many as threads were ever alive together, one for each slot of the arena.
//
// They lie in memory that the kernel wipes in a forked child. Nothing here waits for another thread.
#pragma once

#include "thread_state.hpp"

namespace memtoll::state_pool {

// A state that no thread uses. Null when there are too many threads, or no memory.
ThreadState* acquire();
void release(ThreadState* state);

// For the next supervisor: all states are out of date; each stays its thread's. True: an interrupted hook still holds on to one that
// was so before.
bool retire();
// The state of a thread that is out of date begins anew, in the same slot. Null: there is no such slot any more.
ThreadState* renew(ThreadState* state);
// The deepest stacks that states have room for, frames; 0: there are none yet.
uint32_t most_stack_depth();

// Makes states in advance, for threads that begin when no more memory is to be had.
void reserve();

// In a forked child, where no state is in use.
void clear();

// In a forked child: the state's memory becomes that of the arena's first slot. False if there is no memory.
bool move_to_front(ThreadState* state);

// How much of all states is in memory, bytes.
size_t resident_bytes();

// Calls `visit` with each state that is or was in use.
template <class Visit> void for_each(Visit visit);

// More than the threads that a process may have where each needs two of its mappings (vm.max_map_count, 65,530).
inline constexpr uint32_t kMaxStates = 1 << 16;

// States by slot, a group at a time: few programs have more threads than the first group is for, and the others are mapped when
// they are needed.
struct Group {
    static constexpr uint32_t kStates = 1024;

    // Those below the arena's slots_used are or were in use.
    std::atomic<ThreadState*> states[kStates];
    // Of a slot that is not in use: the next one.
    std::atomic<uint32_t> next_free[kStates];
};

// Null: no slot of it was ever used.
extern std::atomic<Group*> groups[kMaxStates / Group::kStates];

inline Group* group_of(uint32_t index) { return groups[index / Group::kStates].load(std::memory_order_acquire); }

inline ThreadState* state_at(uint32_t index) {
    Group* group = group_of(index);
    return group ? group->states[index % Group::kStates].load(std::memory_order_acquire) : nullptr;
}

template <class Visit> void for_each(Visit visit) {
    const uint32_t used = session.arena->slots_used.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < used && i < kMaxStates; ++i)
        if (ThreadState* state = state_at(i)) visit(*state);
}

} // namespace memtoll::state_pool
