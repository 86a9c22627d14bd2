// Work in several threads.
#pragma once

#include <atomic>
#include <cstddef>

namespace memtoll::machine {

// Lets the processor go to whoever is ready to run.
void yield_processor();

// Calls work(context, index) in `count` threads, index 0 being the caller's, and waits for all of them. False if a
// thread cannot be started: the calls that were made may then not have ended.
inline constexpr size_t kMostThreads = 1024;
bool in_threads(size_t count, void (*work)(void* context, size_t index), void* context);

// Holds threads up until all of them are here. Can be used again at once.
class Barrier {
public:
    explicit Barrier(size_t threads) : threads_(threads) {}

    void wait() {
        const size_t round = round_.load(std::memory_order_acquire);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
            arrived_.store(0, std::memory_order_relaxed);
            round_.store(round + 1, std::memory_order_release);
            return;
        }
        // There may be fewer processors than threads.
        while (round_.load(std::memory_order_acquire) == round)
            yield_processor();
    }

private:
    const size_t threads_;
    std::atomic<size_t> arrived_{0};
    std::atomic<size_t> round_{0};
};

} // namespace memtoll::machine
