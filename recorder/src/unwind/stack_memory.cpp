#include "stack_memory.hpp"

#include "../kernel.hpp"
#include "stack_mappings.hpp"

namespace memtoll::unwind {
namespace {

// The thread's first frame lies at most this far below the end of its stack (static thread-local storage and, for the
// main thread, the arguments and the environment lie between).
constexpr uintptr_t kEndSlack = 1 << 20;
// So far below what is known of a thread's stack, it may still be taken for the same stack.
constexpr uintptr_t kDeeper = 256 << 10;
// Distance from the known part of a thread's stack below which no other stack lies: guard pages, or the kernel's gap of 1 MiB.
constexpr uintptr_t kNear = 64 << 10;
// No thread has a smaller stack (PTHREAD_STACK_MIN).
constexpr uintptr_t kSmallestStack = 16 << 10;
// No system has smaller pages. Larger ones would only save some questions.
constexpr uintptr_t kSmallestPage = 4096;

} // namespace

// Whether both words lie on the thread's own stack, judged by their distance from its known part or from its end.
bool StackMemory::is_near_own(uintptr_t word, uintptr_t known_good) const {
    if (known_good >= word || word >= end_) return false;
    return end_ - known_good < kNear || (bytes_ != 0 && known_good < low_ && low_ - known_good < kNear);
}

Reach StackMemory::reach_elsewhere(uintptr_t word, const Lead& lead) const {
    if (word / kSmallestPage == lead.known_good / kSmallestPage) return Reach::kReadable;
    // Where the kernel may not be asked, the stack is taken to reach without a hole from what was just read to what is
    // known of it, or to its end. (Below the main thread's, the kernel keeps a gap of 1 MiB.)
    if (kernel::silent.load(std::memory_order_relaxed)) {
        // A saved register lies below the return address that was read before.
        const uintptr_t good = lead.known_good < lead.on_stack ? lead.known_good : lead.on_stack;
        const bool is_below_known = word < low_ && low_ - good < kDeeper && bytes_ != 0;
        const bool is_near_end = word < end_ && end_ - good < kSmallestStack;
        const bool is_own = good < word && (is_below_known || is_near_end);
        return is_own ? Reach::kReadable : Reach::kUnreadable;
    }
    if (!is_near_own(word, lead.known_good) && stack_mappings::is_past(word, lead.on_stack, lead.base))
        return Reach::kPastStack;
    return kernel::readable(word) ? Reach::kReadable : Reach::kUnreadable;
}

// The C library's code that starts a process or a thread may be without a rule: it is known by its place at the beginning of
// the stack.
//
// On a stack of another making, such code in a file is where a fiber begins: libraries of fibers write it in assembly. Nothing is
// known above it. On the thread's own stack, and of code that a program generates, it is in the midst of calls.
uint32_t StackMemory::root_without_rule(uintptr_t stack_pointer, bool in_file) const {
    if (end_ - stack_pointer <= first_frames_) return wire::kRootComplete;
    const uintptr_t word = stack_pointer - sizeof(uintptr_t), last = end_ - sizeof(uintptr_t);
    if (!in_file || is_own(word) || is_near_own(last, word) || kernel::silent.load(std::memory_order_relaxed)) return wire::kRootNoRule;
    return stack_mappings::is_past(last, word, word) ? wire::kRootComplete : wire::kRootNoRule;
}

void StackMemory::saw_all(uintptr_t low, uintptr_t last) {
    if (last >= end_ || end_ - last >= kEndSlack) return;
    low_ = low;
    bytes_ = last + sizeof(uintptr_t) - low;
}

void StackMemory::saw_part(uintptr_t low, uintptr_t met, uintptr_t last) {
    if (bytes_ == 0 || low >= low_ || !is_own(last) || met < low_) return;
    bytes_ += low_ - low;
    low_ = low;
}

} // namespace memtoll::unwind
