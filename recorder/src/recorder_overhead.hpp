// What the recorder itself costs the target, estimated: one event in about 64 is timed from the hook's first instruction
// to its last, and counts for all of them. The real call's time is taken off; it contains one time stamp, as does what is
// left, so that the price of stamping cancels out.
//
// Not in it: waiting for the supervisor (ThreadLog::waited), connecting to the supervisor, loading the recorder.
#pragma once

#include <cstdint>

namespace memtoll {

// When an event began that does what others do not. It may take system calls, and then other threads get the processor: what the
// thread itself has used, in ticks as well, is the most that the recorder can have.
struct BeginOfRare {
    uint64_t at;
    uint64_t processor; // 0: the kernel does not say
    static BeginOfRare now();
};

class OwnCost {
public:
    // The event that began at `start` is timed, and stands for all events of its interval.
    void begin(uint64_t start) { begin(start, interval_); }
    // The same for an event that stands only for itself, because it does what others do not; and for a thread's first one.
    void begin_rare(BeginOfRare began) {
        begin(began.at, 1);
        processor_ = began.processor;
        is_rare_ = true;
    }
    void begin_first(BeginOfRare began) {
        interval_ = 1;
        begin_rare(began);
    }

    bool timing() const { return start_ != 0; }

    // Ticks in the event being timed that are not the recorder's, and ticks in its real call that are.
    void leave_out(uint64_t ticks) { start_ += timing() ? ticks : 0; }
    void add_nested(uint64_t ticks) { nested_ += ticks; }

    // The event ends at `now`, with a real call that took `real_ticks`.
    void end(uint64_t now, uint64_t real_ticks);
    // The event will not end: an exception or a longjmp left it.
    void abandon() { start_ = 0; }

    // Events from here to the next one that is to be timed.
    uint32_t interval() const { return interval_; }

    uint64_t ticks() const { return ticks_; }

private:
    void begin(uint64_t start, uint32_t weight) {
        start_ = start;
        is_rare_ = false;
        nested_ = 0;
        weight_ = weight;
    }

    uint64_t at_most_used(uint64_t ticks);
    uint32_t uneven(uint64_t stamp);

    uint64_t start_ = 0; // of the event being timed, 0: none is
    uint64_t processor_ = 0; // what the thread had used when that was last asked; 0: not known
    bool is_rare_ = false; // of the event being timed; then that was when it began
    uint64_t nested_ = 0;
    uint64_t ticks_ = 0;
    uint64_t random_ = 0;
    uint32_t weight_ = 1;
    uint32_t interval_ = 1;
};

} // namespace memtoll
