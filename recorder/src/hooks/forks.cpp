// Forked children.
//
// A child is noticed at its first event: the kernel has wiped the recorder's per-thread memory. That is too late when the
// fork was made by a signal handler that had interrupted a hook: the hook goes on in the child as well, with its state
// wiped under its feet. Then the state is set up again before the handler returns.
#include "scope.hpp"

#include <unistd.h>

using namespace memtoll;

namespace {

template <class Real> [[gnu::always_inline]] inline pid_t fork_by(Real real) {
    need_next();
    const arch::HookFrame frame = MEMTOLL_FRAME();
    const bool interrupted = hook_is_interrupted(frame);
    // The child inherits the blocks of this instant, but connects only with its first call.
    session.forked_at.store(now(), std::memory_order_relaxed);
    const pid_t pid = real();
    // A child of a fork that passes by here does not know.
    if (pid != 0) session.forked_at.store(0, std::memory_order_relaxed);
    if (pid == 0 && interrupted) [[unlikely]]
        repair_after_fork(frame);
    return pid;
}

} // namespace

MEMTOLL_HOOK pid_t fork() noexcept {
    return fork_by([] { return next.fork(); });
}

MEMTOLL_HOOK pid_t _Fork() noexcept {
    return fork_by([] { return next._Fork(); });
}
