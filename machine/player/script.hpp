// The script that the player plays: the calls of a recording, ready to be made. Written by crates/verify/src/replay/script.rs,
// whose test compares both sides.
#pragma once

#include <cstdint>

namespace memtoll::player {

inline constexpr uint64_t kMagic = 0x3159414c504c544d; // "MTLPLAY1"

// Steps of a chunk, at most.
inline constexpr uint64_t kChunk = 1024;

// A script is written from its begin to its end, and may be larger than the memory: the player reads it chunk by chunk.
//
//     steps in chunks, those of all threads mixed | Chunk[] | Thread[] | a uint32_t a window, to a multiple of 8 bytes | End

struct Chunk {
    uint64_t at; // where its steps begin in the file
    uint64_t steps;
};

struct Thread {
    uint64_t first; // chunk
    uint64_t chunks;
    uint64_t slots; // of blocks that are its own
};

struct End {
    uint64_t tables;       // where the chunks' table begins in the file
    uint64_t chunks;
    uint64_t windows;      // pieces of the recording; for each, a uint32_t says how many threads have a part in it
    uint64_t shared_slots; // of blocks that one thread allocates and another one frees
    uint32_t threads;
    uint32_t pools;        // arenas and stores of kept blocks; each is one thread's
    uint64_t magic;
};

enum class Do : uint8_t {
    kMalloc,
    kCalloc,
    kAligned,
    kFrom,    // remembers the block that kRealloc resizes
    kRealloc,
    kFree,
    kFreeNull,
    kStart,   // the thread `slot`, once `size` threads have ended
    kWindow,  // `slot` - 1 is the window that the thread leaves, `size` - 1 the one that it enters; 0: none
    kPause,   // until `size` ns after the beginning
    kArena,   // the calls below take blocks from pools
    kArenaFree,
    kKeep,
    kKeepFree,
};

inline constexpr uint32_t kShared = 1u << 31; // the slot is a shared one
inline constexpr int kSizeBits = 48;

struct Step {
    uint64_t size; // above kSizeBits: the share of the pages that are touched, in 65535ths
    uint32_t slot;
    Do what;
    uint8_t log2_alignment;
    uint16_t pool;
};

static_assert(sizeof(Chunk) == 16 && sizeof(Thread) == 24 && sizeof(End) == 48 && sizeof(Step) == 16);

} // namespace memtoll::player
