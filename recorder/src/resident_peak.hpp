// The largest resident set of a process without the recorder's share.
//
// The kernel keeps the largest resident set of a process, but not when that was. So the recorder looks at it, and at its own
// share, whenever its share has grown by a small step. If the largest resident set has grown since the look before, it was
// reached between the two, and the share was between those of the two.
//
// The kernel's figure includes what the process had before it executed the program. Below that, looks see nothing. If the
// program stays below it, the figure since the exec is asked for at the end (kernel::resident_peak_kib); if not, the program
// may have had as much before, and the error says so.
#pragma once

#include <algorithm>
#include <cstdint>

namespace memtoll {

class ResidentPeak {
public:
    // KiB.
    struct Range {
        uint64_t least = 0, most = 0;

        static Range of(uint64_t value) { return {value, value}; }
        Range with(const Range& other) const { return {std::min(least, other.least), std::max(most, other.most)}; }
        uint64_t middle() const { return least + (most - least) / 2; }
        uint64_t half() const { return (most - least + 1) / 2; }
    };

    // What one look saw, KiB. The program goes on meanwhile, so that the recorder's share at that moment is a range.
    struct Seen {
        uint64_t turn = 0;    // looks are counted as they begin
        uint64_t largest = 0; // resident set; 0 if the kernel did not say
        Range own;            // the recorder's memory
        Range tables;         // the program's unwinding tables that the recorder reads
    };

    struct Figures {
        uint64_t program_kib = 0;  // 0: not known
        uint64_t recorder_kib = 0; // what the recorder had besides, at the same time
        uint64_t error_kib = 0;    // by which both may be wrong
    };

    // `forked`: in a forked child, for which the kernel begins anew.
    void begin(const Seen& seen, bool forked) {
        *this = {};
        last_ = seen;
        own_ = seen.own;
        if (forked) peak_ = at(seen.largest, seen);
        else hidden_ = at(seen.largest, seen).program.most;
    }

    void add(const Seen& seen) {
        own_ = own_.with(seen.own);
        // Late: a look of another thread began after it, or ended after it.
        if (seen.turn < last_.turn || seen.largest < last_.largest) return;
        if (seen.largest > last_.largest) {
            const State now = at(seen.largest, {0, 0, last_.own.with(seen.own), last_.tables.with(seen.tables)});
            if (now.program.middle() > peak_.program.middle()) peak_ = now;
        }
        last_ = seen;
    }

    // `since_exec()`: the largest resident set since the exec, KiB, 0 if it is not known.
    template <class SinceExec> Figures figures(SinceExec since_exec) const {
        if (last_.largest == 0) return {};
        if (peak_.program.most > 0) return in(peak_, {peak_.program.least, std::max(peak_.program.most, hidden_)});
        const uint64_t largest = since_exec();
        if (largest == 0) return {};
        const State then = at(largest, {0, 0, own_, Range{0, last_.tables.most}});
        return in(then, then.program);
    }

private:
    struct State {
        Range program, own;
    };

    static uint64_t less(uint64_t value, uint64_t share) { return value > share ? value - share : 0; }

    // Without the recorder, some of the tables are in memory all the same: beside pages that the program uses itself.
    static State at(uint64_t largest, const Seen& shares) {
        return {{less(largest, shares.own.most + shares.tables.most), less(largest, shares.own.least)}, shares.own};
    }

    static Figures in(const State& state, const Range& program) {
        return {program.middle(), state.own.middle(), program.half()};
    }

    Seen last_;
    State peak_;          // of what the looks saw
    uint64_t hidden_ = 0; // so much the program may have had without being seen
    Range own_;           // in all looks
};

} // namespace memtoll
