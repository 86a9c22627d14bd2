#include "unwind_check.hpp"

#include "../kernel.hpp"
#include "../threads/gate.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fcntl.h>
#include <unwind.h>

namespace memtoll {
namespace {

constexpr uint64_t kMostReported = 100; // disagreements per process image

const wire::StackNode* nodes() {
    return reinterpret_cast<const wire::StackNode*>(session.at(session.arena->nodes_offset));
}

uintptr_t address_of(uint32_t node) { return nodes()[node].key.load(std::memory_order_acquire) & wire::kAddressMask; }

// libgcc's walk, frame by frame beside the recorder's. Nothing is kept outside of it: a signal handler may compare its own
// stack in the middle of a comparison.
struct Comparison {
    uintptr_t return_slot; // of the hook: frames below are the recorder's own
    uint32_t node;         // the recorder's next frame, or how its stack ends
    bool agree = true;
    bool in_recorder = true;
    long report = -1; // the file to print libgcc's frames to
};

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

_Unwind_Reason_Code next_frame(_Unwind_Context* context, void* at) {
    auto& comparison = *static_cast<Comparison*>(at);
    int interrupted = 0;
    const uintptr_t address = _Unwind_GetIPInfo(context, &interrupted);
    // libgcc's CFA of a frame is that of the frame it called.
    if (comparison.in_recorder && _Unwind_GetCFA(context) <= comparison.return_slot) return _URC_NO_REASON;
    comparison.in_recorder = false;
    if (address == 0) return _URC_NO_REASON;
    const uintptr_t call = (interrupted ? address : address - 1) & wire::kAddressMask;
    if (comparison.report >= 0) print_call(comparison.report, "libgcc  ", call);
    // A stack that is too deep is known by its innermost frames; where the tree is full nothing is known.
    if (comparison.node == wire::kRootTooDeep || comparison.node == wire::kRootTreeFull) return _URC_NO_REASON;
    if (comparison.node < wire::kFirstNode || address_of(comparison.node) != call) comparison.agree = false;
    else comparison.node = nodes()[comparison.node].parent;
    return _URC_NO_REASON;
}

void report(uintptr_t return_slot, uint32_t node) {
    const char* path = getenv("MEMTOLL_UNWIND_LOG");
    if (!path) return;
    const long fd = arch::syscall(SYS_openat, AT_FDCWD, reinterpret_cast<long>(path),
                                  O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) return;
    print(fd, "process %u, thread %u\n", kernel::process_id(), kernel::thread_id());
    uint32_t frame = node;
    for (; frame >= wire::kFirstNode; frame = nodes()[frame].parent) print_call(fd, "recorder", address_of(frame));
    print(fd, "  recorder ends with root %u\n", frame);
    Comparison printing{return_slot, wire::kRootTreeFull};
    printing.report = fd;
    _Unwind_Backtrace(next_frame, &printing);
    arch::syscall(SYS_close, fd);
}

} // namespace

void check_unwind(ThreadState* state, arch::HookFrame frame, uint32_t node) {
    // As if the real function were running: whatever libgcc or the printing allocates passes through the hooks.
    state->log.slot->guard.store(frame.address, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const uintptr_t return_slot = arch::caller_frame(frame).return_slot;
    Comparison comparison{return_slot, node};
    _Unwind_Backtrace(next_frame, &comparison);
    wire::ArenaHeader* arena = session.arena;
    arena->unwind_checked.fetch_add(1, std::memory_order_relaxed);
    if (!comparison.agree || comparison.node >= wire::kFirstNode) {
        if (arena->unwind_disagreed.fetch_add(1, std::memory_order_relaxed) < kMostReported) report(return_slot, node);
    }
    real_call_done(state, frame);
}

} // namespace memtoll
