// The script that the player plays: the calls of a recording, ready to be made. Written by crates/replay/src/script.rs,
// whose test compares both sides.
#pragma once

#include <cstdint>

namespace memtoll::player {

inline constexpr uint64_t kMagic = 0x3159414c504c544d; // "MTLPLAY1"

struct Header {
    uint64_t magic;
    uint32_t threads;
    uint32_t pools;        // arenas and stores of kept blocks; each is one thread's
    uint64_t shared_slots; // of blocks that one thread allocates and another one frees
    uint64_t windows;      // pieces of the recording; for each, a uint32_t says how many threads have a part in it
};

struct Thread {
    uint64_t first; // step
    uint64_t steps;
    uint64_t slots; // of blocks that are its own
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

static_assert(sizeof(Header) == 32 && sizeof(Thread) == 24 && sizeof(Step) == 16);

} // namespace memtoll::player
