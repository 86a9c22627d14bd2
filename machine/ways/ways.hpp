// The ways to take memory and to give it back.
//
// A *use* of memory is: take it, touch it, give it back. A way says which calls take and give; some take fresh memory for
// each use, others keep what they have and only tell the system that it is not needed for now.
#pragma once

#include <cstddef>

namespace memtoll::machine {

extern const size_t kPage; // the system's
inline constexpr size_t kBlock = size_t{64} << 10; // the second touch writes the first byte of each
// Blocks from malloc are shorter by what the GNU C library puts in front of each, so that they lie kBlock apart.
inline constexpr size_t kHeader = 16;
inline constexpr size_t kHugePage = size_t{2} << 20;

// A thread's memory. Either one piece or blocks of kBlock - kHeader bytes.
struct Memory {
    size_t bytes = 0;         // a multiple of kHugePage
    char* start = nullptr;    // of the one piece
    char** blocks = nullptr;  // or: room for bytes / kBlock pointers
    bool in_blocks = false;
    void* mapping = nullptr;  // what start was aligned in, if that differs
    size_t mapping_bytes = 0;
    void* file = nullptr;     // a handle, or a descriptor plus one
};

// Both return null, or the call that failed; failure_reason() says why.
using Step = const char* (*)(Memory&);

struct Way {
    const char* id;
    const char* name; // for people
    Step take;
    Step give;
    // Why this way cannot be gone here with this much memory, as far as that is known in advance; null if it is not.
    const char* (*obstacle)(size_t bytes) = nullptr;
    // Whether several threads can do so at the same time.
    bool in_threads = true;
};

// What the last failed call of a step complained about.
const char* failure_reason();

extern const Way kWays[];
extern const size_t kWayCount;

// For every way that keeps something. Does nothing.
const char* keep(Memory& memory);

// Blocks from malloc, in either platform's list.
const char* take_malloc(Memory& memory);        // one block
const char* give_malloc(Memory& memory);
const char* take_malloc_blocks(Memory& memory); // 64 KiB each
const char* give_malloc_blocks(Memory& memory); // in the order of their allocation

} // namespace memtoll::machine
