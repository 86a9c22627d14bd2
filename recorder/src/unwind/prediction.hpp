// Method 2 of stack capture: guess the whole stack from a few words, then prove the guess.
//
// A *leaf* holds one stack seen before: the place and value of every word that decided it (return addresses, and the
// saved frame pointers that later frames are computed from). If the stack starts at the same place, with the same
// return address, and all those words have the same values, then it is the same stack: the size of each frame follows
// from its code address, so each word read was the right one, by induction from the inside outwards. The leaf's node
// is then known without looking anything up.
//
// The words are compared by a digest of 64 bits. Where a single word has changed, the digest has changed, too: each step of
// it can be undone. Where several have, it is the same by chance in one of 2^64 cases; a wrong guess that is compared a
// million times a second is taken for right once in 580,000 years.
//
// Finding the right leaf: stacks that begin alike (same first slot and return address) are told apart by the word in
// which they were first seen to differ. That makes a small decision tree, kept in one hash table: the key of a step is
// mixed from the key of the step before and the word read there. Where two keys are alike by chance, the wrong turn leads
// to the leaf of any other stack: its proof fails.
//
// Only for stacks whose memory is known to be readable up to their end (see StackCache): words are read in batches,
// before the ones further in have been compared. `room` is how far that end lies above the first return slot, in bytes.
// What another stack has further out is not read.
#pragma once

#include "../arch/arch.hpp"

#include <cstdint>

namespace memtoll::unwind {

// A word of the stack, and what it must be.
struct Item {
    uintptr_t address;
    uintptr_t value;
};

// Asks for more bytes of memory that is there already and was not touched yet; false: they must not be used.
using Take = bool (*)(size_t bytes);

class Prediction {
public:
    // Bytes of zeroed memory to hand to start(). Little of it is used as long as few stacks are learnt, and more only where
    // `take` grants it: it is asked for bytes, which it may refuse.
    static constexpr size_t kTableBytes = 128 * 1024;
    static constexpr size_t kLeafBytes = 512 * 1024;
    static constexpr size_t kKnownPerLeafByte = 2;
    static constexpr size_t kMemoryBytes = kTableBytes + kLeafBytes * (1 + kKnownPerLeafByte);
    static constexpr unsigned kMaxItems = 256;

    void start(void* memory, Take take);
    void clear();

    // The only leaf that the stack can be, kNoLeaf if there is none. It is on its way from memory when this returns.
    using Guess = uint32_t;
    static constexpr Guess kNoLeaf = 0;
    [[gnu::always_inline]] Guess guess(const arch::CallerFrame& caller, uintptr_t room) const;

    // Proves a guess. The stack's node in `node`; false if the stack is not known.
    [[gnu::always_inline]] bool find(Guess guess, const arch::CallerFrame& caller, uintptr_t room, uint32_t& node) const;

    // Remembers a stack that find() just did not know. `items` run from the outside inwards, as StackCache keeps them.
    // `needs_frame_pointer`: the stack depends on the caller's frame pointer as well.
    void learn(const arch::CallerFrame& caller, uintptr_t room, bool needs_frame_pointer, const Item* items, unsigned count,
               uint32_t node);

private:
    static constexpr unsigned kLanes = 4;
    static constexpr uint16_t kWide = UINT16_MAX;

    // What decides, in as few bytes as possible: with hundreds of stacks in turn, the cache misses on leaves cost more
    // than the comparison. An ordinary stack's leaf is one cache line.
    struct alignas(64) Leaf {
        uint64_t digest; // of the caller's position, its frame pointer if that matters, and the words
        uint32_t node;
        uint8_t batches; // of kLanes offsets
        int8_t frame_pointer_mask; // -1 if the stack depends on the caller's frame pointer, else 0
        uint16_t furthest; // of the offsets, which are uint16_t, in words; kWide: they are int32_t, in bytes
        alignas(4) char offsets[1]; // from the first return slot, from the inside outwards

        bool is_wide() const { return furthest == kWide; }
    };

    // The rest of the stack, only read to tell two stacks apart: the values of the words at the leaf's offsets, of which the
    // lower halves are enough for that. A leaf's lies at kKnownPerLeafByte times its offset.
    struct Known {
        uintptr_t position;
        uint32_t frame_pointer;
        uint32_t count;
        uint32_t values[1]; // from the inside outwards
    };

    // A step of the decision: either the leaf to try, or the word to read next. A step is found by a hash of the words
    // read so far; only 32 bits of it are kept, since a wrong turn is noticed by the proof.
    struct Step {
        uint32_t tag;  // 0: empty
        uint32_t what; // a leaf's offset in leaves_, or kReadWord and the word's distance from the return slot in words
    };

    static constexpr uint32_t kReadWord = uint32_t{1} << 31;
    static constexpr uint32_t kReadFramePointer = UINT32_MAX;
    static constexpr unsigned kFirstTableBits = 8;
    static constexpr uint32_t kLeafStep = 16 * 1024; // by which the leaves' memory grows
    static constexpr unsigned kMaxSteps = 12;
    static constexpr uint64_t kMultiplier = 0x9e3779b97f4a7c15u;

    [[gnu::always_inline]] static uintptr_t position(const arch::CallerFrame& caller) {
        return arch::position(caller.return_slot, caller.stack_pointer());
    }
    [[gnu::always_inline]] static uint64_t mix(uint64_t hash, uint64_t word) { return (hash ^ word) * kMultiplier; }
    [[gnu::always_inline]] static uint64_t first_hash(const arch::CallerFrame& caller) {
        return mix(position(caller) * kMultiplier, caller.return_address);
    }
    [[gnu::always_inline]] static uint64_t next_hash(uint64_t hash, uint32_t what, const arch::CallerFrame& caller) {
        if (what == kReadFramePointer) return mix(hash, static_cast<uint32_t>(caller.frame_pointer));
        return mix(hash, static_cast<uint32_t>(reinterpret_cast<const uintptr_t*>(caller.return_slot)[what ^ kReadWord]));
    }
    // Whether next_hash() stays on the stack.
    [[gnu::always_inline]] static bool reaches(uint32_t what, uintptr_t room) {
        return what == kReadFramePointer || uintptr_t{what ^ kReadWord} * sizeof(uintptr_t) < room;
    }
    // Multiplication leaves the low bits poor: tag and place come from the upper ones, each from its own.
    [[gnu::always_inline]] static uint32_t tag(uint64_t hash) { return static_cast<uint32_t>(hash >> 16) | 1; }
    [[gnu::always_inline]] const Step* step(uint64_t hash) const {
        for (uint64_t i = hash >> 48;; ++i) {
            const Step& s = table_[i & mask_];
            if (s.tag == tag(hash)) return &s;
            if (s.tag == 0) return nullptr;
        }
    }
    [[gnu::always_inline]] Leaf& leaf(uint32_t offset) const { return *reinterpret_cast<Leaf*>(leaves_ + offset); }
    Known& known(uint32_t leaf) const { return *reinterpret_cast<Known*>(leaves_ + kLeafBytes + leaf * kKnownPerLeafByte); }

    // The word at a leaf's offset.
    template <class Offset>
    [[gnu::always_inline]] static uintptr_t word_at(const arch::CallerFrame& caller, Offset offset) {
        constexpr intptr_t kUnit = sizeof(Offset) == sizeof(uint16_t) ? sizeof(uintptr_t) : 1;
        return *reinterpret_cast<const uintptr_t*>(caller.return_slot + intptr_t{offset} * kUnit);
    }
    template <class Offset>
    [[gnu::always_inline]] static uint64_t digest(const Leaf& leaf, const arch::CallerFrame& caller);
    [[gnu::always_inline]] static bool holds(const Leaf& leaf, const arch::CallerFrame& caller, uintptr_t room);
    [[gnu::noinline]] static bool holds_wide(const Leaf& leaf, const arch::CallerFrame& caller, uintptr_t room);

    Step& insert(uint64_t hash);
    void make_room();
    uint32_t make_leaf(const arch::CallerFrame& caller, bool needs_frame_pointer, const Item* items, unsigned count,
                       uint32_t node);
    static uint32_t offset_in_words(const Leaf& leaf, unsigned index);
    static bool first_difference(const Known& known, const Leaf& leaf, const arch::CallerFrame& caller, uint32_t& what,
                                 uint32_t& value);

    Step* table_ = nullptr;
    char* leaves_ = nullptr;
    uint64_t mask_ = 0;
    uint32_t used_ = 0;
    uint32_t leaf_end_ = 0;
    uint32_t leaf_limit_ = 0; // bytes of the leaves' memory that may be used
    Take take_ = nullptr;
};

template <class Offset>
inline uint64_t Prediction::digest(const Leaf& leaf, const arch::CallerFrame& caller) {
    // Four lanes, so that the multiplications of one step do not wait for each other.
    uint64_t a = position(caller);
    uint64_t b = caller.frame_pointer & static_cast<uint64_t>(int64_t{leaf.frame_pointer_mask});
    uint64_t c = 0, d = 0;
    const auto* offset = reinterpret_cast<const Offset*>(leaf.offsets);
    for (const auto* const end = offset + leaf.batches * kLanes; offset != end; offset += kLanes) {
        a = a * kMultiplier + word_at<Offset>(caller, offset[0]);
        b = b * kMultiplier + word_at<Offset>(caller, offset[1]);
        c = c * kMultiplier + word_at<Offset>(caller, offset[2]);
        d = d * kMultiplier + word_at<Offset>(caller, offset[3]);
    }
    return (a ^ (b << 16 | b >> 48)) + ((c << 32 | c >> 32) ^ (d << 48 | d >> 16));
}

inline bool Prediction::holds(const Leaf& leaf, const arch::CallerFrame& caller, uintptr_t room) {
    if (leaf.is_wide()) [[unlikely]]
        return holds_wide(leaf, caller, room);
    return leaf.furthest * sizeof(uintptr_t) < room && digest<uint16_t>(leaf, caller) == leaf.digest;
}

inline Prediction::Guess Prediction::guess(const arch::CallerFrame& caller, uintptr_t room) const {
    uint64_t hash = first_hash(caller);
    while (const Step* s = step(hash)) {
        if ((s->what & kReadWord) == 0) {
            __builtin_prefetch(&leaf(s->what));
            return s->what;
        }
        if (!reaches(s->what, room)) [[unlikely]]
            return kNoLeaf;
        hash = next_hash(hash, s->what, caller);
    }
    return kNoLeaf;
}

inline bool Prediction::find(Guess guess, const arch::CallerFrame& caller, uintptr_t room, uint32_t& node) const {
    if (guess == kNoLeaf) return false;
    const Leaf& candidate = leaf(guess);
    node = candidate.node;
    return holds(candidate, caller, room);
}

} // namespace memtoll::unwind
