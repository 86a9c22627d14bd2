// What every hook does around the function it forwards to: stamp, forward, stamp, find the stack, write the event.
//
// Order of events across threads: a release is known from *before* the real call, an acquisition from *after* it. Each
// event carries both stamps and the supervisor sorts by the one that matters, so a block that another thread receives
// as soon as it is free is never seen live twice.
#pragma once

#include "../check/unwind_check.hpp"
#include "../event_log.hpp"
#include "../program_break.hpp"
#include "../build_switches.hpp"
#include "../threads/gate.hpp"
#include "giving_back.hpp"
#include "next.hpp"

#include <utility>

#define MEMTOLL_HOOK extern "C" __attribute__((visibility("default"), used))

// Defines the hook NAME, whose body follows and forwards to `next.NAME`. Under its own name it goes on to the next definition. Beside
// it, memtoll_stubs_NAME is a row of entries, one for each of `tables`: import tables of files whose calls are bound past the
// recorder are given the nth, which goes on to what tables[n] has (import_patching.cpp).
#define MEMTOLL_EVENT_HOOK(RESULT, NAME, PARAMETERS, ARGUMENTS)                                                         \
    MEMTOLL_EVENT_HOOK_AS(RESULT, NAME, PARAMETERS, ARGUMENTS, noexcept)
#define MEMTOLL_EVENT_HOOK_AS(RESULT, NAME, PARAMETERS, ARGUMENTS, EXCEPTIONS)                                          \
    [[gnu::always_inline]] static inline RESULT hook_##NAME(::memtoll::Next & next, MEMTOLL_LIST PARAMETERS);           \
    MEMTOLL_HOOK RESULT NAME PARAMETERS EXCEPTIONS { return hook_##NAME(::memtoll::next, MEMTOLL_LIST ARGUMENTS); }     \
    MEMTOLL_WITH_TABLE(NAME)                                                                                            \
    [[gnu::always_inline]] static inline RESULT hook_##NAME(::memtoll::Next & next, MEMTOLL_LIST PARAMETERS)
#define MEMTOLL_LIST(...) __VA_ARGS__

// What the stubs of hook_NAME lead to. The number of the table comes in the place of a sixth argument.
#define MEMTOLL_WITH_TABLE(NAME)                                                                                        \
    extern "C" __attribute__((used)) ::memtoll::Word memtoll_with_table_##NAME(                                         \
        ::memtoll::Word a, ::memtoll::Word b, ::memtoll::Word c, ::memtoll::Word d, ::memtoll::Word e,                  \
        ::memtoll::Word table) {                                                                                        \
        return ::memtoll::with_table<hook_##NAME>(hook_##NAME, table, {a, b, c, d, e});                                 \
    }                                                                                                                   \
    MEMTOLL_STUBS(NAME, memtoll_with_table_##NAME);

// The same for a function of six arguments, which has a stub for the first table only.
#define MEMTOLL_EVENT_HOOK_OF_SIX(RESULT, NAME, PARAMETERS, ARGUMENTS)                                                  \
    [[gnu::always_inline]] static inline RESULT hook_##NAME(::memtoll::Next & next, MEMTOLL_LIST PARAMETERS);           \
    MEMTOLL_HOOK RESULT NAME PARAMETERS noexcept { return hook_##NAME(::memtoll::next, MEMTOLL_LIST ARGUMENTS); }       \
    extern "C" RESULT memtoll_overridden_##NAME PARAMETERS noexcept asm("memtoll_stubs_" #NAME);                        \
    extern "C" __attribute__((used)) RESULT memtoll_overridden_##NAME PARAMETERS noexcept {                             \
        return hook_##NAME(::memtoll::overridden, MEMTOLL_LIST ARGUMENTS);                                              \
    }                                                                                                                   \
    [[gnu::always_inline]] static inline RESULT hook_##NAME(::memtoll::Next & next, MEMTOLL_LIST PARAMETERS)

namespace memtoll {

// An argument or a result, as a register holds it.
using Word = uint64_t;
struct FiveWords {
    Word word[5];
};

template <auto hook, class Result, class... Parameters, size_t... kIndex>
[[gnu::always_inline]] inline Word with_words(Result (*)(Next&, Parameters...), Next& table, const FiveWords& given,
                                              std::index_sequence<kIndex...>) {
    static_assert(sizeof...(Parameters) <= 5);
    if constexpr (std::is_void_v<Result>) return hook(table, (Parameters)given.word[kIndex]...), 0;
    else return (Word)hook(table, (Parameters)given.word[kIndex]...);
}

// Calls a hook with one of the tables.
template <auto hook, class Result, class... Parameters>
[[gnu::always_inline]] inline Word with_table(Result (*type)(Next&, Parameters...), Word table, const FiveWords& given) {
    return with_words<hook>(type, tables[table], given, std::make_index_sequence<sizeof...(Parameters)>());
}

} // namespace memtoll

namespace memtoll {

enum HookKind : uint8_t {
#define EVENT(number, name, symbol, function, effect, type) k_##name = number,
#include "hooks.def"
};

// The effects in hooks.def.
enum class Effect : uint8_t { ACQUIRE, RELEASE, REALLOCATE, MAP, UNMAP, REMAP, ADVISE, PROTECT, BREAK, THREAD };

constexpr Effect effect_of(HookKind kind) {
    switch (kind) {
#define EVENT(number, name, symbol, function, effect, type)                                                                   \
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

// A hook at work, from its first instruction to its last. False where it is only to forward: then nothing else may be
// asked of it. An exception that passes through the hook leaves the guard behind, and the gate finds out.
class HookScope {
public:
    // `frame` is the hook's, whose caller is the event's call site (MEMTOLL_FRAME); `bits` of wire::GuardBits describe the
    // real call.
    [[gnu::always_inline]] explicit HookScope(arch::HookFrame frame, uint64_t bits = 0)
        : state_(enter(frame, need_next, bits)), frame_(frame) {}
    [[gnu::always_inline]] ~HookScope() {
        if (state_) leave(state_);
    }
    HookScope(const HookScope&) = delete;
    HookScope& operator=(const HookScope&) = delete;

    [[gnu::always_inline]] explicit operator bool() const { return state_ != nullptr; }

    // Before the real call: what the stack may be, so that memory can answer meanwhile; then the stamp. Of an event that is
    // timed it is taken twice (stamp_overlap.hpp).
    [[gnu::always_inline]] void begin_call() {
        guess_ = guess();
        begin_ = now();
        if (!state_->cost.timing()) [[likely]]
            return;
        const uint64_t second = now();
        state_->cost.leave_out(second - begin_);
        begin_ = second;
    }

    // The real call has returned.
    [[gnu::always_inline]] void end_call() {
        real_call_done(state_, frame_);
        end_ = now();
        state_->real_ticks = end_ - begin_;
    }

    // Instead of both, for a hook without a real call, and with one that is none of the event's.
    [[gnu::always_inline]] void no_call() {
        real_call_done(state_, frame_);
        state_->real_ticks = 0;
    }
    // The same where the stack is asked for.
    [[gnu::always_inline]] void no_call_but_guess() {
        guess_ = guess();
        no_call();
    }

    // The node of the hook's caller.
    [[gnu::always_inline]] uint32_t stack_node() {
        const uint32_t node = state_->stacks.node(caller(), guess_);
        if constexpr (MEMTOLL_USING(MEMTOLL_CHECK_UNWIND)) check_unwind(state_, frame_, node);
        return node;
    }

    // When the real call began and ended.
    [[gnu::always_inline]] uint64_t began() const { return begin_; }
    [[gnu::always_inline]] uint64_t ended() const { return end_; }

    // The event of the call itself, and what it did to the end of the heap.
    [[gnu::always_inline]] void append_call(HookKind kind, uint64_t address, uint64_t size, uint32_t node) {
        append(log(), kind, begin_, end_, address, size, node);
        if (end_ - begin_ > thresholds.slow_call) append_break_if_moved(log(), end_, node);
    }

    [[gnu::always_inline]] ThreadLog& log() { return state_->log; }
    [[gnu::always_inline]] ThreadState* state() { return state_; }

private:
    [[gnu::always_inline]] arch::CallerFrame caller() const { return arch::caller_frame(frame_); }
    [[gnu::always_inline]] unwind::Prediction::Guess guess() const { return state_->stacks.guess(caller()); }

    ThreadState* const state_;
    const arch::HookFrame frame_;
    unwind::Prediction::Guess guess_ = unwind::Prediction::kNoLeaf;
    uint64_t begin_ = 0;
    uint64_t end_ = 0;
};

// An event of kind `kind`: `real` makes the real call and returns its result; `describe` turns the result into the
// record's address and size (with the detail bits), and says whether there is anything to record.
struct Described {
    bool recorded;
    uint64_t address;
    uint64_t size;
};

template <class Real, class Describe>
[[gnu::always_inline]] inline auto event(HookKind kind, Real real, Describe describe) {
    HookScope scope(MEMTOLL_FRAME(), guard_bits(kind));
    if (!scope) [[unlikely]]
        return real();
    scope.begin_call();
    const auto result = real();
    scope.end_call();
    const Described what = describe(result);
    if (what.recorded) [[likely]] {
        scope.append_call(kind, what.address, what.size, scope.stack_node());
        publish(scope.log());
    }
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
    if (has_large_mapping(block) || (is_at_top_of_heap(block) && lowers_heap(block))) [[unlikely]]
        before_giving_back(MEMTOLL_FRAME());
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
