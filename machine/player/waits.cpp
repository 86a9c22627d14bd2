#include "waits.hpp"

#include "../../recorder/src/arch/arch.hpp"

#include <climits>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace memtoll::player {

namespace {

// Long enough for a block that is about to come from another processor, short enough not to count.
constexpr int kSpins = 100;

std::atomic<uint32_t> g_ended{0};

// The futex is the low half of a slot: the machine is little-endian.
void wait_while(void* word, uint32_t value) { syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0); }

void wake(void* word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0); }

uint64_t read(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

} // namespace

uint64_t now_ns() { return read(CLOCK_MONOTONIC); }

uint64_t thread_cpu_ns() { return read(CLOCK_THREAD_CPUTIME_ID); }

void publish(SharedSlot& slot, uint64_t block) {
    if (slot.exchange(block, std::memory_order_acq_rel) == 1)
        wake(&slot);
}

uint64_t take(SharedSlot& slot, uint64_t& slept) {
    uint64_t found = slot.load(std::memory_order_acquire);
    for (int i = 0; found <= 1 && i < kSpins; ++i) {
        arch::relax();
        found = slot.load(std::memory_order_acquire);
    }
    if (found > 1) {
        slot.store(0, std::memory_order_relaxed);
        return found;
    }
    const uint64_t began = now_ns();
    while (true) {
        uint64_t nothing = 0;
        slot.compare_exchange_strong(nothing, 1, std::memory_order_acq_rel);
        found = slot.load(std::memory_order_acquire);
        if (found > 1)
            break;
        wait_while(&slot, 1);
    }
    slot.store(0, std::memory_order_relaxed);
    slept += now_ns() - began;
    return found;
}

void count_end() {
    g_ended.fetch_add(1, std::memory_order_acq_rel);
    wake(&g_ended);
}

void await_ends(uint32_t number, uint64_t& slept) {
    uint32_t ended = g_ended.load(std::memory_order_acquire);
    if (ended >= number)
        return;
    const uint64_t began = now_ns();
    for (; ended < number; ended = g_ended.load(std::memory_order_acquire))
        wait_while(&g_ended, ended);
    slept += now_ns() - began;
}

void leave(Window& window) {
    if (window.fetch_sub(1, std::memory_order_acq_rel) == 1)
        wake(&window);
}

void await_end(Window& window, uint64_t& slept) {
    uint32_t left = window.load(std::memory_order_acquire);
    for (int i = 0; left > 0 && i < kSpins; ++i) {
        arch::relax();
        left = window.load(std::memory_order_acquire);
    }
    if (left == 0)
        return;
    const uint64_t began = now_ns();
    for (; left > 0; left = window.load(std::memory_order_acquire))
        wait_while(&window, left);
    slept += now_ns() - began;
}

void sleep_until(uint64_t ns, uint64_t& slept) {
    const uint64_t began = now_ns();
    if (began >= ns)
        return;
    const timespec until{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != 0) {
    }
    slept += now_ns() - began;
}

} // namespace memtoll::player
