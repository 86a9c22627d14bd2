// The largest resident set of a process without the recorder's share.
//
// The kernel keeps the largest resident set of a process, but not when that was. So the recorder looks at it, and at its own
// share, whenever its share has grown by a small step. If the largest resident set has grown since the look before, it was
// reached between the two, and the share was between those of the two.
//
// The kernel's figure includes what the process had before it executed the program. Below that, looks see nothing. If the
// program stays below it, the figure since the exec is asked for at the end (kernel::resident_set); if not, the program
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
        uint64_t now_kib = 0;      // the program's resident set now; 0: not known
        uint64_t now_error_kib = 0;
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

    // At the end: the resident set now, and the largest one since the exec, KiB; 0 where they are not known.
    Figures figures(uint64_t now, uint64_t since_exec) const {
        if (last_.largest == 0) return {};
        Figures found = largest(since_exec);
        if (now > 0) {
            const Range program = at(now, last_).program;
            found.now_kib = program.middle();
            found.now_error_kib = program.half();
            // The two figures of the kernel's are not equally exact, but what is there now has been reached.
            if (found.program_kib > 0 && found.program_kib < found.now_kib) {
                found.program_kib = found.now_kib;
                found.recorder_kib = last_.own.middle();
                found.error_kib = std::max(found.error_kib, found.now_error_kib);
            }
        }
        return found;
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

    Figures largest(uint64_t since_exec) const {
        if (peak_.program.most > 0) return in(peak_, {peak_.program.least, std::max(peak_.program.most, hidden_)});
        if (since_exec == 0) return {};
        const State then = at(since_exec, {0, 0, own_, Range{0, last_.tables.most}});
        return in(then, then.program);
    }

    static Figures in(const State& state, const Range& program) {
        return {.program_kib = program.middle(), .recorder_kib = state.own.middle(), .error_kib = program.half()};
    }

    Seen last_;
    State peak_;          // of what the looks saw
    uint64_t hidden_ = 0; // bytes that the program may have had without being seen
    Range own_;           // in all looks
};

} // namespace memtoll
