// Where the mappings end that stacks lie in: a walk must not leave them.
//
// What is remembered of a mapping says nothing of what can be read, for it may be gone by now, only how far a stack may reach
// at the most; and it is asked for anew before it ends a stack.
#pragma once

#include <atomic>
#include <cstdint>

namespace memtoll::unwind::stack_mappings {

// Whether `word` lies outside the mapping that holds `on_stack`, although the register that led to it, `base`, points into
// that mapping (or to its end). Where it does not, the code itself has changed to another stack.
// False where the kernel does not say.
bool is_past(uintptr_t word, uintptr_t on_stack, uintptr_t base);

// Whether any mapping is remembered: only programs with stacks of their own making need any.
inline std::atomic<bool> any_known{false};

void forget_all_in(uintptr_t begin, uintptr_t bytes);

// The mappings of these addresses have changed.
[[gnu::always_inline]] inline void forget(uintptr_t begin, uintptr_t bytes) {
    if (any_known.load(std::memory_order_relaxed)) [[unlikely]]
        forget_all_in(begin, bytes);
}

} // namespace memtoll::unwind::stack_mappings
