#include "unwind_check.hpp"

#include "../kernel.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <unwind.h>

namespace memtoll {
namespace {

constexpr uint64_t kMostReported = 100; // disagreements per process image
constexpr unsigned kMostFrames = 16384;

struct Stack {
    unsigned depth;
    uintptr_t calls[kMostFrames]; // innermost first
};

// Too large for the target's stacks: one for each thread state, made on first use.
struct Comparison {
    uintptr_t above; // frames with a CFA up to here are the recorder's own
    Stack ours, theirs;
};
Comparison* comparisons[kMaxSlots];

_Unwind_Reason_Code collect(_Unwind_Context* context, void* comparison) {
    auto& [above, ours, theirs] = *static_cast<Comparison*>(comparison);
    int interrupted = 0;
    const uintptr_t address = _Unwind_GetIPInfo(context, &interrupted);
    if (theirs.depth == 0 && _Unwind_GetCFA(context) <= above) return _URC_NO_REASON;
    if (address == 0 || theirs.depth == kMostFrames) return _URC_END_OF_STACK;
    theirs.calls[theirs.depth++] = (interrupted ? address : address - 1) & wire::kAddressMask;
    return _URC_NO_REASON;
}

// Reads the stack from the tree; returns how it ends.
uint32_t read_tree(uint32_t node, Stack& ours) {
    const auto* nodes = reinterpret_cast<const wire::StackNode*>(session.at(session.arena->nodes_offset));
    ours.depth = 0;
    for (; node >= wire::kFirstNode && ours.depth < kMostFrames; node = nodes[node].parent)
        ours.calls[ours.depth++] = nodes[node].key.load(std::memory_order_acquire) & wire::kAddressMask;
    return node;
}

[[gnu::format(printf, 2, 3)]] void print(long fd, const char* format, ...) {
    char line[1024];
    va_list list;
    va_start(list, format);
    const int bytes = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    arch::syscall(SYS_write, fd, reinterpret_cast<long>(line),
                  bytes < static_cast<int>(sizeof line) ? bytes : static_cast<long>(sizeof line) - 1);
}

void print_call(long fd, const char* who, uintptr_t address) {
    Dl_info info;
    if (!dladdr(reinterpret_cast<void*>(address), &info)) return print(fd, "  %s %#lx\n", who, address);
    print(fd, "  %s %#lx %s+%#lx %s\n", who, address, info.dli_fname,
          address - reinterpret_cast<uintptr_t>(info.dli_fbase), info.dli_sname ? info.dli_sname : "");
}

void report(uint32_t root, const Stack& ours, const Stack& theirs) {
    const char* path = getenv("MEMTOLL_UNWIND_LOG");
    if (!path) return;
    const long fd = arch::syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path),
                                  O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) return;
    print(fd, "thread %u: %u frames (root %u) against libgcc's %u\n", kernel::thread_id(), ours.depth, root,
          theirs.depth);
    for (unsigned i = 0; i < ours.depth || i < theirs.depth; ++i) {
        if (i < ours.depth && i < theirs.depth && ours.calls[i] == theirs.calls[i]) {
            print_call(fd, "  both", ours.calls[i]);
            continue;
        }
        if (i < ours.depth) print_call(fd, "  ours", ours.calls[i]);
        if (i < theirs.depth) print_call(fd, "libgcc", theirs.calls[i]);
    }
    arch::syscall(SYS_close, fd);
}

} // namespace

void check_unwind(ThreadState* state, uintptr_t frame, uint32_t node) {
    // As if the real function were running: whatever libgcc or the printing allocates passes through the hooks.
    state->slot->guard.store(frame, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    Comparison*& comparison = comparisons[state->index];
    if (!comparison) comparison = static_cast<Comparison*>(kernel::map_private(sizeof(Comparison)));
    auto& [above, ours, theirs] = *comparison;
    const uint32_t root = read_tree(node, ours);
    theirs.depth = 0;
    above = frame + sizeof(uintptr_t); // the hook's return slot
    _Unwind_Backtrace(collect, comparison);

    // A stack that is too deep is known by its innermost frames; where the tree is full nothing is known.
    const bool cut = root == wire::kRootTooDeep && ours.depth < theirs.depth;
    const unsigned depth = cut ? ours.depth : theirs.depth;
    const bool agree = root == wire::kRootTreeFull ||
                       (ours.depth == depth && memcmp(ours.calls, theirs.calls, depth * sizeof ours.calls[0]) == 0);
    wire::ArenaHeader* arena = session.arena;
    arena->unwind_checked.fetch_add(1, std::memory_order_relaxed);
    if (!agree && arena->unwind_disagreed.fetch_add(1, std::memory_order_relaxed) < kMostReported)
        report(root, ours, theirs);
    real_call_done(state, frame);
}

} // namespace memtoll
