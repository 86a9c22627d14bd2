#include "kernel.hpp"

#include "own_ranges.hpp"

#include <cstring>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/uio.h>

namespace memtoll::kernel {

namespace {

long read_own_memory(void* to, uintptr_t from, size_t bytes) {
    iovec there{to, bytes}, here{reinterpret_cast<void*>(from), bytes};
    return call(SYS_process_vm_readv, process_id(), reinterpret_cast<long>(&there), 1, reinterpret_cast<long>(&here), 1,
                0);
}

} // namespace

void* map_private(size_t bytes) {
    const long result = call(SYS_mmap, 0, static_cast<long>(bytes), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (failed(result)) return nullptr;
    own_ranges::add(reinterpret_cast<void*>(result), bytes);
    return reinterpret_cast<void*>(result);
}

void unmap(void* address, size_t bytes) {
    own_ranges::remove(address);
    call(SYS_munmap, reinterpret_cast<long>(address), static_cast<long>(bytes));
}

bool readable(uintptr_t address) {
    if (arch::valgrind_depth() > 0) { // it has a look at the call below, and complains of the nonsense
        char byte;
        return read_own_memory(&byte, address, sizeof byte) == sizeof byte;
    }
    // The kernel copies the signal set at `address` before it looks at the nonsensical `how`: EFAULT means it cannot be
    // read, EINVAL that it can. Nothing changes either way.
    constexpr long kNonsense = -1, kSetBytes = 8, kEinval = 22;
    return call(SYS_rt_sigprocmask, kNonsense, static_cast<long>(address), 0, kSetBytes) == -kEinval;
}

size_t copy(void* to, uintptr_t from, size_t bytes) {
    const long result = read_own_memory(to, from, bytes);
    return failed(result) ? 0 : static_cast<size_t>(result);
}

bool write_if_allowed(uintptr_t address, uint64_t word) {
    iovec here{&word, sizeof word}, there{reinterpret_cast<void*>(address), sizeof word};
    return call(SYS_process_vm_writev, process_id(), reinterpret_cast<long>(&here), 1, reinterpret_cast<long>(&there), 1,
                0) == sizeof word;
}

uint64_t word_at(uintptr_t address) {
    uint64_t word = 0;
    const long result = read_own_memory(&word, address, sizeof word);
    if (!failed(result)) return word;
    // Some containers forbid it: then there is a small chance that the memory is gone right after the question.
    constexpr long kEfault = -14;
    if (result == kEfault || !readable(address)) return 0;
    return *reinterpret_cast<const volatile uint64_t*>(address);
}

size_t resident(uintptr_t start, size_t bytes) {
    constexpr size_t kPage = 4096, kAtATime = 512;
    unsigned char pages[kAtATime];
    size_t found = 0;
    while (bytes > 0) {
        const size_t piece = bytes < kAtATime * kPage ? bytes : kAtATime * kPage;
        if (failed(call(SYS_mincore, static_cast<long>(start), static_cast<long>(piece), reinterpret_cast<long>(pages))))
            return found;
        for (size_t i = 0; i * kPage < piece; ++i) found += (pages[i] & 1) * kPage;
        start += piece;
        bytes -= piece;
    }
    return found;
}

namespace {

// The KiB that a line of /proc/self/status says: `name` is "\nName:". 0 where there is no such line, or not all of it.
uint64_t kib_of(const char* text, const char* name) {
    const char* line = strstr(text, name);
    const char* end = line ? strstr(line, " kB") : nullptr;
    uint64_t kib = 0;
    if (end)
        for (const char* digit = line + strlen(name); digit != end; ++digit)
            if (*digit >= '0' && *digit <= '9') kib = kib * 10 + static_cast<uint64_t>(*digit - '0');
    return kib;
}

} // namespace

ResidentSet resident_set() {
    const long file = call(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/status"), O_RDONLY | O_CLOEXEC);
    ResidentSet found;
    if (failed(file)) return found;
    // Small: this may run on a signal's stack. Of what was read before, what a line can have stays.
    char text[384];
    constexpr size_t kLine = 64;
    for (size_t kept = 0; found.largest == 0 || found.now == 0;) {
        const long more = call(SYS_read, file, reinterpret_cast<long>(text + kept), static_cast<long>(sizeof text - 1 - kept));
        if (failed(more) || more == 0) break;
        const size_t length = kept + static_cast<size_t>(more);
        text[length] = 0;
        if (found.largest == 0) found.largest = kib_of(text, "\nVmHWM:");
        if (found.now == 0) found.now = kib_of(text, "\nVmRSS:");
        kept = length < kLine ? length : kLine;
        memmove(text, text + length - kept, kept);
    }
    call(SYS_close, file);
    return found;
}

uint64_t largest_resident_set_kib() {
    rusage usage; // of this thread: the same figure, and the kernel need not add up all threads
    return failed(call(SYS_getrusage, kThisThread, reinterpret_cast<long>(&usage))) ? 0 : static_cast<uint64_t>(usage.ru_maxrss);
}

} // namespace memtoll::kernel
