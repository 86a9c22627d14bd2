#include "prediction.hpp"

#include <atomic>
#include <cstddef>
#include <cstring>

namespace memtoll::unwind {

void Prediction::start(void* memory) {
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

// Makes room for two more steps and the largest leaf. That means to forget everything: what is still in use is soon
// learnt again, and a larger table forgets less often.
void Prediction::make_room() {
    const bool table_full = used_ + 2 > (mask_ + 1) / 3;
    constexpr uint32_t kLargestLeaf = sizeof(Leaf) + kMaxItems * sizeof(int32_t);
    if (!table_full && leaf_end_ + kLargestLeaf <= kLeafBytes) return;
    clear();
    if (table_full && (mask_ + 1) * 2 * sizeof(Step) <= kTableBytes) mask_ = mask_ * 2 + 1;
}

uint32_t Prediction::make_leaf(const arch::CallerFrame& caller, bool needs_frame_pointer, const Item* items,
                               unsigned count, uint32_t node) {
    const uint32_t offset = leaf_end_;
    Leaf& fresh = leaf(offset);
    Known& full = known(offset);
    full.return_slot = caller.return_slot;
    full.frame_pointer = caller.frame_pointer;
    full.count = count;
    fresh.node = node;
    fresh.frame_pointer_mask = needs_frame_pointer ? -1 : 0;
    fresh.batches = static_cast<uint8_t>((count + kLanes - 1) / kLanes);
    fresh.wide = false;
    for (unsigned i = 0; i < count; ++i) {
        full.items[i] = items[count - 1 - i];
        if (full.items[i].address - caller.return_slot > UINT16_MAX * sizeof(uintptr_t)) fresh.wide = true;
    }
    const unsigned words = fresh.batches * kLanes;
    auto* narrow = reinterpret_cast<uint16_t*>(fresh.offsets);
    auto* wide = reinterpret_cast<int32_t*>(fresh.offsets);
    for (unsigned i = 0; i < words; ++i) {
        const uintptr_t distance = full.items[i < count ? i : 0].address - caller.return_slot; // filled up with the first
        if (fresh.wide) wide[i] = static_cast<int32_t>(distance);
        else narrow[i] = static_cast<uint16_t>(distance / sizeof(uintptr_t));
    }
    fresh.digest = fresh.wide ? digest<int32_t>(fresh, caller) : digest<uint16_t>(fresh, caller);
    const size_t bytes = offsetof(Leaf, offsets) + words * (fresh.wide ? sizeof *wide : sizeof *narrow);
    leaf_end_ += static_cast<uint32_t>((bytes + sizeof(Leaf) - 1) / sizeof(Leaf) * sizeof(Leaf));
    return offset;
}

// The innermost word in which the present stack differs from a known one. False if there is none.
bool Prediction::first_difference(const Known& known, bool needs_frame_pointer, const arch::CallerFrame& caller,
                                  uint32_t& what, uintptr_t& value) {
    for (unsigned i = 0; i < known.count; ++i) {
        value = known.items[i].value;
        if (*reinterpret_cast<const uintptr_t*>(known.items[i].address) == value) continue;
        what = kReadWord | static_cast<uint32_t>((known.items[i].address - caller.return_slot) / sizeof(uintptr_t));
        return true;
    }
    what = kReadFramePointer;
    value = known.frame_pointer;
    return needs_frame_pointer && value != caller.frame_pointer;
}

void Prediction::learn(const arch::CallerFrame& caller, bool needs_frame_pointer, const Item* items, unsigned count,
                       uint32_t node) {
    if (count == 0 || count > kMaxItems) return;
    for (unsigned i = 0; i < count; ++i) {
        if (items[i].address - caller.return_slot > INT32_MAX) return;
    }
    make_room();
    uint64_t hash = first_hash(caller);
    for (unsigned depth = 0; depth < kMaxSteps; ++depth) {
        Step& place = insert(hash);
        if (place.what & kReadWord) {
            hash = next_hash(hash, place.what, caller);
            continue;
        }
        uint32_t what;
        uintptr_t value;
        const uint32_t other = place.what;
        if (other != 0 && known(other).return_slot == caller.return_slot &&
            first_difference(known(other), leaf(other).frame_pointer_mask != 0, caller, what, value)) {
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
