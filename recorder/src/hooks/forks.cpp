// Forked children.
//
// A child is noticed at its first event: the kernel has wiped the recorder's per-thread memory. That is too late when the
// fork was made by a signal handler that had interrupted a hook: the hook goes on in the child as well, with its state
// wiped under its feet. Then the state is set up again before the handler returns.
#include "forks.hpp"

#include "../kernel.hpp"
#include "scope.hpp"

#include <unistd.h>

using namespace memtoll;

namespace {

// The process's id, whether one of its threads writes jumps, and how many fork. A child inherits its parent's state, and ignores it: the
// id is another one.
constinit std::atomic<uint64_t> at_work{0};
constexpr unsigned kProcessShift = 32;
constexpr uint64_t kWrites = uint64_t{1} << 31;
constexpr uint64_t kForks = kWrites - 1;
constinit std::atomic<uint32_t> writer{0}; // by the kernel's id of the thread

// Changes the state by `step`, as soon as `may` allows it or the thread has waited for long enough.
template <class May, class Step> void take_step(May may, Step step) {
    constexpr unsigned kPatienceMs = 1000;
    const uint64_t own = uint64_t{kernel::process_id()} << kProcessShift;
    unsigned waited = 0;
    uint64_t seen = at_work.load(std::memory_order_relaxed);
    for (;;) {
        const uint64_t now = (seen & ~(kWrites | kForks)) == own ? seen : own;
        if (!may(now) && waited++ < kPatienceMs && !kernel::silent.load(std::memory_order_relaxed)) {
            kernel::nap(1);
            seen = at_work.load(std::memory_order_relaxed);
        } else if (at_work.compare_exchange_weak(seen, step(now), std::memory_order_acq_rel)) {
            return;
        }
    }
}

template <class Real> [[gnu::always_inline]] inline pid_t fork_by(Real real) {
    need_next();
    const arch::HookFrame frame = MEMTOLL_FRAME();
    const bool interrupted = hook_is_interrupted(frame);
    // The child inherits the blocks of this instant, but connects only with its first call.
    session.forked_at.store(now(), std::memory_order_relaxed);
    const pid_t pid = [&] {
        const ForkOrJumps forking(ForkOrJumps::kForks);
        return real();
    }();
    // A child of a fork that passes by here does not know.
    if (pid != 0) session.forked_at.store(0, std::memory_order_relaxed);
    if (pid == 0 && interrupted) [[unlikely]]
        repair_after_fork(frame);
    return pid;
}

} // namespace

ForkOrJumps::ForkOrJumps(Work work) : work_(work) {
    if (work == kForks) {
        // A signal handler may interrupt the writer and fork: in the child, it goes on to write.
        const auto may = [](uint64_t now) { return !(now & kWrites) || writer.load(std::memory_order_relaxed) == kernel::thread_id(); };
        take_step(may, [](uint64_t now) { return now + 1; });
    } else {
        take_step([](uint64_t now) { return !(now & kForks); }, [](uint64_t now) { return now | kWrites; });
        writer.store(kernel::thread_id(), std::memory_order_relaxed);
    }
}

ForkOrJumps::~ForkOrJumps() {
    const auto always = [](uint64_t) { return true; };
    if (work_ == kForks) {
        // In the child, no thread forks.
        take_step(always, [](uint64_t now) { return now & kForks ? now - 1 : now; });
    } else {
        writer.store(0, std::memory_order_relaxed);
        take_step(always, [](uint64_t now) { return now & ~kWrites; });
    }
}

MEMTOLL_HOOK pid_t fork() noexcept {
    return fork_by([] { return next.fork(); });
}

MEMTOLL_HOOK pid_t _Fork() noexcept {
    return fork_by([] { return next._Fork(); });
}
