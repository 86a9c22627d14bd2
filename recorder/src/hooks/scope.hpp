// What every hook does around the function it forwards to: stamp, forward, stamp, find the stack, write the event.
//
// Order of events across threads: a release is known from *before* the real call, an acquisition from *after* it. Each
// event carries both stamps and the supervisor sorts by the one that matters, so a block that another thread receives
// as soon as it is free is never seen live twice.
#pragma once

#include "../check/unwind_check.hpp"
#include "../event_log.hpp"
#include "../program_break.hpp"
#include "../switches.hpp"
#include "next.hpp"

#define MEMTOLL_HOOK extern "C" __attribute__((visibility("default"), used))

// Defines the hook NAME, whose body follows and forwards to `next.NAME`, twice. Under its own name it goes on to the next
// definition. As memtoll_overridden_NAME it goes to the executable's, where that defines NAME itself: the tables of
// libraries are then given this one (imports.cpp), while the executable's definition may go on to the first.
#define MEMTOLL_EVENT_HOOK(RESULT, NAME, PARAMETERS, ARGUMENTS)                                                         \
    MEMTOLL_EVENT_HOOK_AS(RESULT, NAME, PARAMETERS, ARGUMENTS, noexcept)
#define MEMTOLL_EVENT_HOOK_AS(RESULT, NAME, PARAMETERS, ARGUMENTS, EXCEPTIONS)                                          \
    template <::memtoll::Next & next> [[gnu::always_inline]] static inline RESULT hook_##NAME PARAMETERS;               \
    MEMTOLL_HOOK RESULT NAME PARAMETERS EXCEPTIONS { return hook_##NAME<::memtoll::next> ARGUMENTS; }                   \
    extern "C" RESULT memtoll_overridden_##NAME PARAMETERS EXCEPTIONS {                                                 \
        return hook_##NAME<::memtoll::overridden> ARGUMENTS;                                                            \
    }                                                                                                                   \
    template <::memtoll::Next & next> [[gnu::always_inline]] static inline RESULT hook_##NAME PARAMETERS

namespace memtoll {

enum HookKind : uint8_t {
#define EVENT(number, name, symbol, function, effect) k_##name = number,
#include "hooks.def"
};

// The effects in hooks.def.
enum class Effect : uint8_t { ACQUIRE, RELEASE, REALLOCATE, MAP, UNMAP, REMAP, ADVISE, BREAK, THREAD };

constexpr Effect effect_of(HookKind kind) {
    switch (kind) {
#define EVENT(number, name, symbol, function, effect)                                                                   \
    case k_##name: return Effect::effect;
#include "hooks.def"
    }
    return Effect::THREAD;
}

// What the guard says while the real function runs. Of a call that also releases something, a part counts from its begin.
constexpr uint64_t guard_bits(HookKind kind) {
    const Effect effect = effect_of(kind);
    const bool counts_at_end = effect == Effect::ACQUIRE || effect == Effect::MAP || effect == Effect::BREAK;
    return counts_at_end ? uint64_t{wire::kCountsAtEnd} : 0;
}

[[gnu::always_inline]] inline ThreadState* begin_hook(uintptr_t frame, uint64_t bits = 0) {
    return enter(frame, need_next, bits);
}

// Before the real call: what the stack may be, so that memory can answer meanwhile.
[[gnu::always_inline]] inline unwind::Prediction::Guess guess_stack(ThreadState* state, uintptr_t frame) {
    return state->stacks.guess(arch::caller_frame(reinterpret_cast<const uintptr_t*>(frame)));
}

[[gnu::always_inline]] inline uint32_t stack_node(ThreadState* state, uintptr_t frame,
                                                  unwind::Prediction::Guess guess) {
    const uint32_t node = state->stacks.node(arch::caller_frame(reinterpret_cast<const uintptr_t*>(frame)), guess);
    if constexpr (MEMTOLL_USING(MEMTOLL_CHECK_UNWIND)) check_unwind(state, frame, node);
    return node;
}

// The frame address of the hook, whose caller is the event's call site. Must stand in the hook itself or in a function
// that is always inlined into it.
#define MEMTOLL_FRAME() reinterpret_cast<uintptr_t>(__builtin_frame_address(0))

// The stamp before the real call. Of an event that is timed it is taken twice (overlap.hpp).
[[gnu::always_inline]] inline uint64_t stamp_before(ThreadState* state) {
    const uint64_t first = now();
    if (!state->cost.timing()) [[likely]]
        return first;
    const uint64_t second = now();
    state->cost.leave_out(second - first);
    return second;
}

// An event of kind `kind`: `real` makes the real call and returns its result; `describe` turns the result into the
// record's address and size (with the detail bits), and says whether there is anything to record.
struct Described {
    bool recorded;
    uint64_t address;
    uint64_t size;
};

template <class Real, class Describe>
[[gnu::always_inline]] inline auto event(HookKind kind, Real real, Describe describe) {
    const uintptr_t frame = MEMTOLL_FRAME();
    ThreadState* state = begin_hook(frame, guard_bits(kind));
    if (!state) [[unlikely]]
        return real();
    const unwind::Prediction::Guess guess = guess_stack(state, frame);
    const uint64_t begin = stamp_before(state);
    const auto result = real();
    real_call_done(state, frame);
    const uint64_t end = now();
    state->real_ticks = end - begin;
    const Described what = describe(result);
    if (what.recorded) [[likely]] {
        const uint32_t node = stack_node(state, frame, guess);
        append(state, kind, begin, end, what.address, what.size, node);
        if (end - begin > kSlowCall) append_break_if_moved(state, end, node);
        publish(state);
    }
    leave(state);
    return result;
}

// An allocation of `size` bytes. A failed one is recorded with address 0.
template <class Real>
[[gnu::always_inline]] inline void* acquire(HookKind kind, size_t size, uint64_t detail, Real real) {
    return event(kind, real, [&](void* block) {
        return Described{true, reinterpret_cast<uint64_t>(block),
                         (size & wire::kSizeMask) | detail << wire::kDetailShift};
    });
}

// A release of `block`.
template <class Real> [[gnu::always_inline]] inline void release(HookKind kind, void* block, Real real) {
    event(kind,
          [&] {
              real();
              return 0;
          },
          [&](int) { return Described{true, reinterpret_cast<uint64_t>(block), 0}; });
}

// Log2 of an alignment, as the detail bits of an allocation say it.
[[gnu::always_inline]] inline uint64_t log2_of(size_t alignment) {
    return alignment ? static_cast<uint64_t>(__builtin_ctzll(alignment)) : 0;
}

} // namespace memtoll
