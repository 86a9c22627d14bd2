// What the filter will say to which call cannot be known, and some end the process. So the recorder makes none any more. It
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

void memtoll::be_silent() {
    if (session.state.load(std::memory_order_acquire) == Session::kRecording) {
        state_pool::reserve();
        session.tree.reserve();
    }
    // For good, even if the filter is then refused.
    kernel::silent.store(true, std::memory_order_relaxed);
}

void memtoll::before_prctl(int option, unsigned long argument) {
    if (option == PR_SET_SECCOMP) be_silent();
    if ((option == PR_SET_SECCOMP && argument == SECCOMP_MODE_STRICT) ||
        (option == PR_SET_TSC && argument == PR_TSC_SIGSEGV))
        session.give_up_counter();
}

extern "C" {
__attribute__((visibility("hidden"))) void* memtoll_next_syscall = nullptr;

__attribute__((visibility("hidden"), used)) void memtoll_before_syscall(long number, long first, long second, long third) {
    need_next();
    memtoll_next_syscall = next.syscall;
    if (number == SYS_prctl) before_prctl(static_cast<int>(first), static_cast<unsigned long>(second));
    if (number != SYS_seccomp) return;
    if (first == SECCOMP_SET_MODE_STRICT) before_prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    // Without a filter it is only a question whether the kernel could.
    if (first == SECCOMP_SET_MODE_FILTER && third != 0) be_silent();
}
}

MEMTOLL_JUMP_THROUGH(syscall, memtoll_before_syscall, memtoll_next_syscall);
