// How much of the process's memory is the recorder's own: what it may have, and what it has.
//
// The kernel keeps the largest resident set of a process, but not when that was. So that the recorder's share of it can be
// taken off, the recorder looks at both whenever its own share has grown by a small step. If the largest resident set has
// grown since the look before, it was reached between the two, and the share was between those of the two. Threads look at
// the same time: one that the scheduler stops does not keep the others from it.
//
// What the process had before it executed the program counts as well. If the program never has more, the end of it is the
// time to ask for the program's own, which costs more and opens a file.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtoll::footprint {

// The recorder begins to use so many bytes more. Called where that is a rare event.
void grow(size_t bytes);

// The same for what merely makes it faster: false if it has had its part of the memory. All threads share one part, and each
// further thread adds a little to it.
bool take(size_t bytes);

// Memory of the recorder's that will be written soon comes now, whole pages of it: one after the other, when they are touched,
// they take twice as long, and a table that is searched before it is filled takes two faults a page.
void bring(void* start, size_t bytes);

// The largest resident set of the process without the recorder.
struct Peak {
    // Without the program's unwinding tables, too, which are in memory because the recorder reads them. 0: not known.
    uint64_t program_kib = 0;
    uint64_t recorder_kib = 0; // what the recorder had besides, at the same time
    uint64_t error_kib = 0;    // by which both may be wrong
};

// Begins to look. `forked`: in a forked child, which has just copied its parent's memory.
void begin(bool forked);

// Looks now. What it says holds up to now. May open a file.
Peak look();

} // namespace memtoll::footprint
