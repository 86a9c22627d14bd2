// What a filter will say to which call cannot be known, and some end the process. So the recorder makes none any more. It
// goes on recording with the memory that it has; waiting becomes spinning. Missed are forked children, and what comes
// when the memory made in advance is used up: both are counted.
//
// Strict seccomp and PR_SET_TSC forbid the time stamp counter, too: it ends the process who reads it. Then the session has
// another clock.
//
// A filter that was there when the program started has let the recorder connect, and is taken to let it work.
#include "sandbox.hpp"

#include "../kernel.hpp"
#include "../threads/state_pool.hpp"
#include "scope.hpp"

#include <linux/seccomp.h>
#include <sys/prctl.h>

using namespace memtoll;

Forbidding::Forbidding(bool calls, bool counter, bool may_return_descriptor)
    : calls_(calls), counter_(counter), may_return_descriptor_(may_return_descriptor) {
    if (calls_) {
        if (session.state.load(std::memory_order_acquire) == Session::kRecording) {
            state_pool::reserve();
            session.tree.reserve();
        }
        kernel::silent.fetch_add(1, std::memory_order_relaxed);
    }
    if (counter_) session.give_up_counter();
}

void Forbidding::take_back_unless(bool succeeded) const {
    if (succeeded) return;
    if (counter_) session.take_back_counter();
    if (calls_) kernel::silent.fetch_sub(1, std::memory_order_relaxed);
}

Forbidding Forbidding::by_prctl(int option, unsigned long first, unsigned long second) {
    if (option == PR_SET_TSC) return {false, first == PR_TSC_SIGSEGV};
    if (option != PR_SET_SECCOMP) return {false, false};
    if (first == SECCOMP_MODE_STRICT) return {true, true};
    // Without a filter it is only a question whether the kernel could.
    return {first == SECCOMP_MODE_FILTER && second != 0, false};
}

Forbidding Forbidding::by_seccomp(unsigned long operation, unsigned long flags, unsigned long filter) {
    constexpr unsigned long kNewListener = 1ul << 3; // SECCOMP_FILTER_FLAG_NEW_LISTENER, Linux 5.0
    if (operation == SECCOMP_SET_MODE_STRICT) return {true, true};
    return {operation == SECCOMP_SET_MODE_FILTER && filter != 0, false, (flags & kNewListener) != 0};
}

namespace {

using Syscall = long (*)(long, unsigned long, unsigned long, unsigned long, unsigned long, unsigned long, unsigned long);

// The C library's syscall() in the place of such a call, whose result is looked at. Others are jumped to: of those that
// return twice, or on another stack, no thread may wait.
long forbidding_syscall(long number, unsigned long a, unsigned long b, unsigned long c, unsigned long d, unsigned long e,
                        unsigned long f) {
    const Forbidding call =
        number == SYS_seccomp ? Forbidding::by_seccomp(a, b, c) : Forbidding::by_prctl(static_cast<int>(a), b, c);
    return call.settle(reinterpret_cast<Syscall>(next.syscall)(number, a, b, c, d, e, f));
}

} // namespace

extern "C" {
__attribute__((visibility("hidden"), used)) void* memtoll_syscall(long number) {
    need_next();
    const bool may_forbid = number == SYS_seccomp || number == SYS_prctl;
    return may_forbid ? reinterpret_cast<void*>(forbidding_syscall) : next.syscall;
}
}

MEMTOLL_JUMP_WHERE_TOLD(syscall, memtoll_syscall);
