// Waiting of threads for each other, where the recording has an order.
#pragma once

#include <atomic>
#include <cstdint>

namespace memtoll::player {

// A block that one thread allocates and another one frees. 0: not there yet; 1: not there, and a thread waits for it. Once it
// is taken, the slot may serve another block: two windows later, so that it is certainly taken by then.
using SharedSlot = std::atomic<uint64_t>;

void publish(SharedSlot& slot, uint64_t block);

// Waits until the block is there, and takes it out. Adds the time that it slept to `slept`, ns.
uint64_t take(SharedSlot& slot, uint64_t& slept);

// How many threads have ended.
void count_end();
void await_ends(uint32_t number, uint64_t& slept);

// A window of the recording ends when all threads that have a part in it have left it: counts down to 0.
using Window = std::atomic<uint32_t>;
void leave(Window& window);
void await_end(Window& window, uint64_t& slept);

uint64_t now_ns();
uint64_t thread_cpu_ns();

// Sleeps until so many ns on the clock of now_ns().
void sleep_until(uint64_t ns, uint64_t& slept);

} // namespace memtoll::player
