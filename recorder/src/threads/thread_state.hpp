// What the recorder keeps for each thread: its end of the log, its stack cache, and where it stands with the gate.
#pragma once

#include "../event_log.hpp"
#include "../stamp_overlap.hpp"
#include "../recorder_overhead.hpp"
#include "../unwind/stack_cache.hpp"

#include <atomic>
#include <cstdint>

namespace memtoll {

// Belongs to one thread at a time and is recycled when the thread ends (state_pool.hpp). It lies in memory that the kernel
// wipes in a forked child, so a child that finds `mode` zero asks the session whether it was forked, by whichever system
// call.
struct ThreadState {
    enum Mode : uint32_t {
        kNone = 0,  // not attached, wiped by a fork, or of an earlier supervisor's time
        kReady = 1, // events may be recorded
        kCheck = 2, // code was unloaded, or recording is over: the gate looks
        kTime = 3,  // events may be recorded, and the next one is to be timed (recorder_overhead.hpp)
        kLoad = 4,  // this thread has called dlopen: on_load() first (gate.hpp)
    };

    std::atomic<uint32_t> mode{kNone};
    uint32_t until_slow_leave = 1; // events
    ThreadLog log;
    uint64_t real_ticks = 0; // how long the last real call took
    unwind::StackCache stacks;

    bool borrowed = false;      // serves a single event (see gate.hpp)
    bool loads = false;         // on_load() is due
    uint64_t loaded_before = 0; // files, when that began
    int load_mode = 0;
    bool load_binds_elsewhere = false;
    OwnCost cost;
    Overlap overlap;
    uint64_t cost_at_begin = 0;   // what `cost` was when the present thread took over
    uint64_t waited_at_begin = 0; // what `log.waited` was when the event that is timed began
    uint32_t index = 0;           // of the slot
    uint32_t epoch = 0;           // of the session; 0 where a fork has wiped it

    Mode how() const { return static_cast<Mode>(mode.load(std::memory_order_relaxed)); }

    // False if another thread has changed it meanwhile.
    bool change_mode(Mode from, Mode to) {
        uint32_t expected = from;
        return mode.compare_exchange_strong(expected, to, std::memory_order_acq_rel);
    }
};

// The calling thread's state. Never null: threads without one share `no_state`, whose mode is kNone.
// __thread and not thread_local: other files may then use it without asking whether it has been initialised.
extern __thread ThreadState* thread_state __attribute__((tls_model("initial-exec")));
extern ThreadState no_state;

} // namespace memtoll
