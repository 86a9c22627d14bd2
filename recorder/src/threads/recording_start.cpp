#include "recording_start.hpp"

#include "../clock.hpp"
#include "../kernel.hpp"
#include "../session.hpp"

namespace memtoll::recording_start {
namespace {

// No thread waits for longer, ms: the supervisor may be gone.
constexpr uint64_t kLongestWait = 100;

// Whether a word of the stack is where a signal handler returns to. Read as far as there is memory.
bool is_in_signal_handler(uintptr_t stack, uintptr_t signal_return) {
    constexpr uintptr_t kLookedAt = 64 << 10; // bytes
    constexpr uintptr_t kFrame = arch::kSignalFrameWords * sizeof(uintptr_t);
    const uintptr_t page = kernel::page_bytes();
    const auto* const begin = reinterpret_cast<const uintptr_t*>(stack);
    uintptr_t readable_end = (stack & ~(page - 1)) + page;
    for (const uintptr_t* at = begin; reinterpret_cast<uintptr_t>(at) < stack + kLookedAt; ++at) {
        if (reinterpret_cast<uintptr_t>(at) + kFrame > readable_end) {
            if (!kernel::readable(readable_end)) return false;
            readable_end += page;
        }
        if (*at == signal_return && arch::is_signal_frame(at)) return true;
    }
    return false;
}

// As a thread's last frees are, which empty its cache of blocks that the program has released already.
bool is_allocators_own(const wire::ArenaHeader& arena, arch::HookFrame frame) {
    const uintptr_t caller = arch::code_address(arch::caller_frame(frame).return_address);
    return caller > arena.allocator_begin.load(std::memory_order_relaxed) &&
           caller <= arena.allocator_end.load(std::memory_order_relaxed);
}

void wait(std::atomic<uint32_t>& start) {
    constexpr uint64_t kNsInMs = 1'000'000;
    const uint64_t since = monotonic_ticks();
    while (start.load(std::memory_order_acquire) == wire::kHeld) {
        const uint64_t waited = (monotonic_ticks() - since) / kNsInMs;
        if (waited < kLongestWait) {
            kernel::futex_wait(start, wire::kHeld, static_cast<long>(kLongestWait - waited));
            continue;
        }
        uint32_t held = wire::kHeld;
        if (start.compare_exchange_strong(held, wire::kTooLate, std::memory_order_acq_rel)) kernel::futex_wake(start, INT32_MAX);
    }
}

} // namespace

bool is_reached(arch::HookFrame frame) {
    wire::ArenaHeader* const arena = session.arena;
    if (!arena) return true; // the first call of a program that memtoll starts
    if (is_allocators_own(*arena, frame)) return false;
    switch (arena->start.load(std::memory_order_acquire)) {
    case wire::kNotYet: return false;
    case wire::kHeld:
        if (is_in_signal_handler(frame.address, arena->signal_return.load(std::memory_order_relaxed))) return false;
        wait(arena->start);
        return true;
    default: return true;
    }
}

} // namespace memtoll::recording_start
