// What the recorder asks of the kernel, as raw system calls: errno and the target's own hooks stay out of it.
//
// Any of them may fail, and nothing may come of it but that something is not recorded.
#pragma once

#include "arch/arch.hpp"

#include <atomic>
#include <linux/futex.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <time.h>

namespace memtoll::kernel {

// How many calls by which the program forbids itself system calls (hooks/sandbox.cpp) have succeeded or are being made: a
// call that it does not allow could be its end. Unless this is 0, every call here fails without being made.
inline std::atomic<uint32_t> silent{0};

inline long call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
    constexpr long kForbidden = -1; // EPERM
    if (silent.load(std::memory_order_relaxed)) return kForbidden;
    return arch::syscall(number, a, b, c, d, e, f);
}

inline bool failed(long result) { return static_cast<unsigned long>(result) > -4096ul; }

// The size of a page, which the kernel left with the program when it started it.
inline size_t page_bytes() { return getauxval(AT_PAGESZ); }
inline size_t whole_pages(size_t bytes) { return (bytes + page_bytes() - 1) & ~(page_bytes() - 1); }

// Private zeroed memory, not counted against overcommit until touched. Null on failure.
void* map_private(size_t bytes);
void unmap(void* address, size_t bytes);

// Private memory reads as zeroes again, and is given back until it is next touched.
inline void zero(void* address, size_t bytes) {
    call(SYS_madvise, reinterpret_cast<long>(address), static_cast<long>(bytes), MADV_DONTNEED);
}

// Pages of shared memory leave this process until it touches them next. Others may have them on.
inline void forget_shared(void* address, size_t bytes) { zero(address, bytes); }

// Pages come at once that will be written soon. False where the kernel is older than 5.14: each comes when it is touched.
inline bool expect_writes(void* address, size_t bytes) {
    constexpr int kPopulateWrite = 23; // MADV_POPULATE_WRITE
    return !failed(call(SYS_madvise, reinterpret_cast<long>(address), static_cast<long>(bytes), kPopulateWrite));
}

// The memory stays in small pages, for what is touched here and there.
inline void no_huge_pages(void* address, size_t bytes) {
    call(SYS_madvise, reinterpret_cast<long>(address), static_cast<long>(bytes), MADV_NOHUGEPAGE);
}

// The memory reads as zeroes in a forked child. False where the kernel is older than 4.14.
inline bool wipe_on_fork(void* address, size_t bytes) {
    return !failed(call(SYS_madvise, reinterpret_cast<long>(address), static_cast<long>(bytes),
                                 MADV_WIPEONFORK));
}

inline void futex_wake(std::atomic<uint32_t>& word, int count) {
    call(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAKE, count);
}

inline void nap(long milliseconds) {
    const timespec pause{milliseconds / 1000, milliseconds % 1000 * 1'000'000};
    call(SYS_nanosleep, reinterpret_cast<long>(&pause), 0);
}

// Returns when woken, when the word is not `expected`, after `milliseconds`, or on a signal.
inline void futex_wait(std::atomic<uint32_t>& word, uint32_t expected, long milliseconds) {
    timespec timeout{milliseconds / 1000, milliseconds % 1000 * 1'000'000};
    call(SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAIT, expected, reinterpret_cast<long>(&timeout));
}

// 0: not known.
inline uint32_t known_id(long result) { return failed(result) ? 0 : static_cast<uint32_t>(result); }
inline uint32_t process_id() { return known_id(call(SYS_getpid)); }
inline uint32_t thread_id() { return known_id(call(SYS_gettid)); }

// How much of a mapping is in memory, bytes: whole pages, from the page at `start`.
size_t resident(uintptr_t start, size_t bytes);

// The process's resident set now, and the largest one since it executed its program, KiB; getrusage(2) counts what it had
// before, too. 0: not known.
struct ResidentSet {
    uint64_t now = 0, largest = 0;
};
ResidentSet resident_set();

// Whose usage getrusage(2) is asked for: RUSAGE_THREAD, which only _GNU_SOURCE has.
constexpr long kThisThread = 1;

// The largest resident set of the process so far, KiB, by getrusage(2): that of now, if there was never more. 0: not known. A system
// call of a quarter of a microsecond.
uint64_t largest_resident_set_kib();

// Whether the word at `address` can be read, without a fault if it cannot.
bool readable(uintptr_t address);
// Copies memory of the process that may be gone. How many bytes: fewer where the rest cannot be read, 0 where the kernel may not
// be asked.
size_t copy(void* to, uintptr_t from, size_t bytes);

// Writes a word where the process may write at once. False where it may not, or the kernel may not be asked.
bool write_if_allowed(uintptr_t address, uint64_t word);

// The word at `address`, which another thread may be about to unmap; 0 if it cannot be read.
uint64_t word_at(uintptr_t address);

} // namespace memtoll::kernel
