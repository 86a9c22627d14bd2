#include "kernel.hpp"

#include <sys/uio.h>

namespace memtoll::kernel {

bool readable(uintptr_t address) {
    if (arch::valgrind_depth() > 0) { // it has a look at the call below, and complains of the nonsense
        char byte;
        iovec to{&byte, sizeof byte}, from{reinterpret_cast<void*>(address), sizeof byte};
        return call(SYS_process_vm_readv, process_id(), reinterpret_cast<long>(&to), 1, reinterpret_cast<long>(&from), 1,
                    0) == sizeof byte;
    }
    // The kernel copies the signal set at `address` before it looks at the nonsensical `how`: EFAULT means it cannot be
    // read, EINVAL that it can. Nothing changes either way.
    constexpr long kNonsense = -1, kSetBytes = 8, kEinval = 22;
    return call(SYS_rt_sigprocmask, kNonsense, static_cast<long>(address), 0, kSetBytes) == -kEinval;
}

uint64_t word_at(uintptr_t address) {
    uint64_t word = 0;
    iovec to{&word, sizeof word}, from{reinterpret_cast<void*>(address), sizeof word};
    const long result = call(SYS_process_vm_readv, process_id(), reinterpret_cast<long>(&to), 1,
                             reinterpret_cast<long>(&from), 1, 0);
    if (!failed(result)) return word;
    // Some containers forbid it: then there is a small chance that the memory is gone right after the question.
    constexpr long kEfault = -14;
    if (result == kEfault || !readable(address)) return 0;
    return *reinterpret_cast<const volatile uint64_t*>(address);
}

void* map_private_huge(size_t bytes) {
    const auto memory = reinterpret_cast<uintptr_t>(map_private(bytes + kHugePage));
    if (memory == 0) return nullptr;
    const uintptr_t start = (memory + kHugePage - 1) & ~(kHugePage - 1);
    if (start != memory) unmap(reinterpret_cast<void*>(memory), start - memory);
    unmap(reinterpret_cast<void*>(start + bytes), memory + kHugePage - start);
    call(SYS_madvise, static_cast<long>(start), static_cast<long>(bytes), MADV_HUGEPAGE);
    return reinterpret_cast<void*>(start);
}

} // namespace memtoll::kernel
