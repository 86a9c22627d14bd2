#include "prediction.hpp"

#include "../footprint.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>

namespace memtoll::unwind {

void Prediction::start(void* memory, Take take) {
    take_ = take;
    leaf_limit_ = kLeafStep;
    table_ = static_cast<Step*>(memory);
    leaves_ = static_cast<char*>(memory) + kTableBytes;
    mask_ = (uint64_t{1} << kFirstTableBits) - 1;
    used_ = 0;
    leaf_end_ = sizeof(Leaf); // offset 0 means "no leaf"
}

void Prediction::clear() {
    memset(table_, 0, (mask_ + 1) * sizeof(Step));
    used_ = 0;
    leaf_end_ = sizeof(Leaf);
}

// The step for `hash`, empty (but tagged) if it is new.
Prediction::Step& Prediction::insert(uint64_t hash) {
    uint64_t i = hash >> 48;
    while (table_[i & mask_].tag != 0 && table_[i & mask_].tag != tag(hash)) ++i;
    Step& s = table_[i & mask_];
    if (s.tag == 0) {
        ++used_;
        s = {tag(hash), 0};
    }
    return s;
}

// Makes room for two more steps and the largest leaf. Where there is none, that means to forget everything: what is still in
// use is soon learnt again, and a larger table forgets less often.
void Prediction::make_room() {
    constexpr uint32_t kLargestLeaf = sizeof(Leaf) + kMaxItems * sizeof(int32_t);
    const bool table_full = used_ + 2 > (mask_ + 1) / 3;
    bool leaves_full = leaf_end_ + kLargestLeaf > leaf_limit_;
    if (leaves_full && leaf_limit_ < kLeafBytes && take_(kLeafStep * (1 + kKnownPerLeafByte))) {
        footprint::bring(&leaf(leaf_limit_), kLeafStep);
        footprint::bring(&known(leaf_limit_), kLeafStep * kKnownPerLeafByte);
        leaf_limit_ += kLeafStep;
        leaves_full = false;
    }
    if (!table_full && !leaves_full) return;
    clear();
    if (table_full && (mask_ + 1) * 2 * sizeof(Step) <= kTableBytes && take_((mask_ + 1) * sizeof(Step))) {
        footprint::bring(table_ + mask_ + 1, (mask_ + 1) * sizeof(Step));
        mask_ = mask_ * 2 + 1;
    }
}

uint32_t Prediction::make_leaf(const arch::CallerFrame& caller, bool needs_frame_pointer, const Item* items,
                               unsigned count, uint32_t node) {
    const uint32_t offset = leaf_end_;
    Leaf& fresh = leaf(offset);
    Known& full = known(offset);
    full.position = position(caller);
    full.frame_pointer = static_cast<uint32_t>(caller.frame_pointer);
    full.count = count;
    fresh.node = node;
    fresh.frame_pointer_mask = needs_frame_pointer ? -1 : 0;
    fresh.batches = static_cast<uint8_t>((count + kLanes - 1) / kLanes);
    uintptr_t furthest = 0;
    for (unsigned i = 0; i < count; ++i) {
        const Item& item = items[count - 1 - i];
        full.values[i] = static_cast<uint32_t>(item.value);
        furthest = std::max(furthest, (item.address - caller.return_slot) / sizeof(uintptr_t));
    }
    fresh.furthest = static_cast<uint16_t>(std::min<uintptr_t>(furthest, kWide));
    const unsigned words = fresh.batches * kLanes;
    auto* narrow = reinterpret_cast<uint16_t*>(fresh.offsets);
    auto* wide = reinterpret_cast<int32_t*>(fresh.offsets);
    for (unsigned i = 0; i < words; ++i) {
        const Item& item = items[i < count ? count - 1 - i : count - 1]; // filled up with the first
        const uintptr_t distance = item.address - caller.return_slot;
        if (fresh.is_wide()) wide[i] = static_cast<int32_t>(distance);
        else narrow[i] = static_cast<uint16_t>(distance / sizeof(uintptr_t));
    }
    fresh.digest = fresh.is_wide() ? digest<int32_t>(fresh, caller) : digest<uint16_t>(fresh, caller);
    const size_t bytes = offsetof(Leaf, offsets) + words * (fresh.is_wide() ? sizeof *wide : sizeof *narrow);
    leaf_end_ += static_cast<uint32_t>((bytes + sizeof(Leaf) - 1) / sizeof(Leaf) * sizeof(Leaf));
    static_assert(kKnownPerLeafByte * offsetof(Leaf, offsets) >= offsetof(Known, values));
    static_assert(kKnownPerLeafByte * sizeof *narrow >= sizeof *full.values);
    return offset;
}

bool Prediction::holds_wide(const Leaf& leaf, const arch::CallerFrame& caller, uintptr_t room) {
    const auto* offsets = reinterpret_cast<const int32_t*>(leaf.offsets);
    const auto is_on_stack = [room](int32_t offset) { return static_cast<uintptr_t>(offset) < room; };
    return std::all_of(offsets, offsets + leaf.batches * kLanes, is_on_stack) && digest<int32_t>(leaf, caller) == leaf.digest;
}

// The distance of a leaf's word from the return slot, in words.
uint32_t Prediction::offset_in_words(const Leaf& leaf, unsigned index) {
    if (leaf.is_wide()) return static_cast<uint32_t>(reinterpret_cast<const int32_t*>(leaf.offsets)[index]) / sizeof(uintptr_t);
    return reinterpret_cast<const uint16_t*>(leaf.offsets)[index];
}

// The innermost word in which the present stack differs from a known one, and what the known one has there. False if there
// is none.
bool Prediction::first_difference(const Known& known, const Leaf& leaf, const arch::CallerFrame& caller, uint32_t& what,
                                  uint32_t& value) {
    const auto* words = reinterpret_cast<const uintptr_t*>(caller.return_slot);
    for (unsigned i = 0; i < known.count; ++i) {
        const uint32_t distance = offset_in_words(leaf, i);
        value = known.values[i];
        if (static_cast<uint32_t>(words[distance]) == value) continue;
        what = kReadWord | distance;
        return true;
    }
    what = kReadFramePointer;
    value = known.frame_pointer;
    return leaf.frame_pointer_mask != 0 && value != static_cast<uint32_t>(caller.frame_pointer);
}

void Prediction::learn(const arch::CallerFrame& caller, uintptr_t room, bool needs_frame_pointer, const Item* items,
                       unsigned count, uint32_t node) {
    if (count == 0 || count > kMaxItems) return;
    for (unsigned i = 0; i < count; ++i) {
        if (items[i].address - caller.return_slot > INT32_MAX) return;
    }
    make_room();
    uint64_t hash = first_hash(caller);
    for (unsigned depth = 0; depth < kMaxSteps; ++depth) {
        Step& place = insert(hash);
        if (place.what & kReadWord) {
            if (!reaches(place.what, room)) return;
            hash = next_hash(hash, place.what, caller);
            continue;
        }
        uint32_t what;
        uint32_t value;
        const uint32_t other = place.what;
        if (other != 0 && known(other).position == position(caller) &&
            first_difference(known(other), leaf(other), caller, what, value)) {
            // Another stack's leaf: from now on the first word in which the two differ decides.
            insert(mix(hash, value)).what = other;
            place.what = what;
            hash = next_hash(hash, what, caller);
            continue;
        }
        // A new step; or the same words under another node, a frame without a rule having got one, say.
        const uint32_t fresh = make_leaf(caller, needs_frame_pointer, items, count, node);
        std::atomic_signal_fence(std::memory_order_seq_cst);
        place.what = fresh;
        return;
    }
}

} // namespace memtoll::unwind
