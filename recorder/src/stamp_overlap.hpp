// How much longer calls look than they take, because the processor is still busy with what came before when the first time
// stamp is taken: with the recorder's look for the stack, or the program's own waiting for memory. It runs many
// instructions at once, and a stamp waits for none of them.
//
// Of each event that is timed (recorder_overhead.hpp) the first stamp is taken twice, which lets the processor catch up.
// The call is compared with the one before, of which it was taken once. On average, the difference is the overlap.
#pragma once

#include "clock.hpp"

namespace memtoll {

class Overlap {
public:
    // An event follows one whose real call took `before` ticks; 0: it made none.
    void begin(uint64_t before) { before_ = before; }

    // Its own real call took `ticks` after the second stamp.
    void end(uint64_t ticks) {
        if (before_ != 0 && before_ < thresholds.short_call && ticks < thresholds.short_call) {
            ++pairs_;
            ticks_ += static_cast<int64_t>(before_) - static_cast<int64_t>(ticks);
        }
        before_ = 0;
    }

    // Calls compared, and by how many ticks all of them together were shorter than those before.
    uint64_t pairs() const { return pairs_; }
    int64_t ticks() const { return ticks_; }

private:
    uint64_t before_ = 0;
    uint64_t pairs_ = 0;
    int64_t ticks_ = 0;
};

} // namespace memtoll
