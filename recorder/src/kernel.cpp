#include "kernel.hpp"

namespace memtoll::kernel {

bool readable(uintptr_t address) {
    // The kernel copies the signal set at `address` before it looks at the nonsensical `how`: EFAULT means it cannot be
    // read, EINVAL that it can. Nothing changes either way.
    constexpr long kNonsense = -1, kSetBytes = 8, kEfault = 14;
    return arch::syscall(SYS_rt_sigprocmask, kNonsense, static_cast<long>(address), 0, kSetBytes) != -kEfault;
}

} // namespace memtoll::kernel
