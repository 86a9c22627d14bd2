#include "recorder_overhead.hpp"

#include "clock.hpp"
#include "kernel.hpp"

#include <algorithm>

namespace memtoll {
namespace {

// What the calling thread has used of the processor, in ticks. 0: the kernel does not say.
uint64_t processor_ticks() {
    timespec used;
    if (kernel::failed(kernel::call(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, reinterpret_cast<long>(&used)))) return 0;
    return ticks_of_ns(static_cast<uint64_t>(used.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(used.tv_nsec));
}

} // namespace

BeginOfRare BeginOfRare::now() { return {memtoll::now(), processor_ticks()}; }

// The low bits of a stamp are no random numbers: on some machines all stamps are multiples of one number. Knuth's linear
// congruential generator (MMIX) spreads them over the upper bits.
uint32_t OwnCost::uneven(uint64_t stamp) {
    random_ = (random_ + stamp) * 6364136223846793005 + 1442695040888963407;
    return static_cast<uint32_t>(random_ >> 32);
}

// While another thread had the processor, the recorder did no work.
uint64_t OwnCost::at_most_used(uint64_t ticks) {
    if (processor_ == 0) return ticks;
    const uint64_t before = processor_;
    processor_ = processor_ticks();
    return processor_ >= before ? std::min(ticks, processor_ - before) : ticks;
}

void OwnCost::end(uint64_t now, uint64_t real_ticks) {
    // Stamps of different processors may differ by a little.
    const uint64_t whole = now - start_ + nested_;
    uint64_t own = whole > real_ticks && now > start_ ? whole - real_ticks : 0;
    // An interruption belongs to one event, not to all that it stands for.
    const bool is_interrupted = own > thresholds.interrupted;
    if (is_interrupted) weight_ = 1;
    if (is_interrupted || is_rare_) own = at_most_used(own);
    ticks_ += own * weight_;
    start_ = 0;
    // A thread's first events are timed more often, because they cost more and because there may be few. Then at uneven
    // intervals of 64 on average, or a program that repeats itself would always be met at the same place.
    constexpr uint32_t kMean = 64;
    interval_ = interval_ < kMean / 2 ? interval_ * 2 : kMean / 2 + 1 + uneven(now) % (kMean - 1);
}

} // namespace memtoll
