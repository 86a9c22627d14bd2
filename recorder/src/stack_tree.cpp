#include "stack_tree.hpp"

#include "footprint.hpp"
#include "kernel.hpp"

namespace memtoll {
namespace {

// Linear probing gives up after this many slots. In a full table of the largest size, the longest stretch without a gap is
// about half as long. A frame without a place would be made again whenever it is met, with all below it.
constexpr unsigned kProbes = 256;

// Nodes after which the recorder's memory has grown by some pages.
constexpr uint32_t kStep = 512;

// Slots that are moved together.
constexpr unsigned kGroup = 32;

// The hash's upper bits decide: the slots of a table keep their order in the next, so that moving is one pass over both.
size_t first_slot(uint64_t hash, unsigned bits) { return hash >> (64 - bits); }

} // namespace

void StackTree::start(wire::StackNode* nodes, std::atomic<uint32_t>* count, uint32_t capacity, bool shared) {
    shared_ = shared;
    nodes_ = nodes;
    count_ = count;
    capacity_.store(capacity, std::memory_order_relaxed);
}

void StackTree::clear() {
    for (unsigned table = 0; table < kMemories; ++table) {
        Table& cleared = table_at(table);
        Slot* slots = cleared.slots.load(std::memory_order_relaxed);
        if (slots) kernel::zero(slots, sizeof(Slot) << bits(table));
        cleared.entries.store(0, std::memory_order_relaxed);
        cleared.moving.store(0, std::memory_order_relaxed);
        cleared.moved.store(0, std::memory_order_relaxed);
    }
    newest_.store(0, std::memory_order_relaxed);
    oldest_.store(0, std::memory_order_relaxed);
    beginning_.store(false, std::memory_order_relaxed);
}

// A table's memory. Entries come to stand all over it, so its pages come together when it is new. (A forked child has its
// parent's, of which each page comes when it is touched.)
StackTree::Slot* StackTree::memory(unsigned table, Pages pages) {
    std::atomic<Slot*>& place = table_at(table).slots;
    Slot* slots = place.load(std::memory_order_acquire);
    if (slots) [[likely]]
        return slots;
    const size_t bytes = sizeof(Slot) << bits(table);
    auto* fresh = static_cast<Slot*>(kernel::map_private(bytes));
    if (!fresh) return nullptr;
    if (!place.compare_exchange_strong(slots, fresh, std::memory_order_acq_rel)) {
        kernel::unmap(fresh, bytes); // another thread was faster
        return slots;
    }
    if (pages == Pages::kNow) {
        footprint::bring(fresh, bytes);
        footprint::grow(bytes);
    }
    return fresh;
}

size_t StackTree::resident_index() const {
    size_t bytes = 0;
    for (unsigned table = 0; table < kMemories; ++table)
        if (const Slot* slots = table_at(table).slots.load(std::memory_order_acquire))
            bytes += kernel::resident(reinterpret_cast<uintptr_t>(slots), sizeof(Slot) << bits(table));
    return bytes;
}

uint32_t StackTree::resident_nodes() const {
    const uint32_t count = !count_ ? 0 : count_->load(std::memory_order_relaxed);
    return count < kStretch ? count : 2 * kStretch;
}

// Brings the pages of the stretch of nodes that begins with `node`, and gives back those of the one before the last.
void StackTree::begin_stretch(uint32_t node) {
    if (!shared_) return;
    const uint32_t left = capacity_.load(std::memory_order_relaxed) - node;
    footprint::bring(nodes_ + node, (left < kStretch ? left : kStretch) * sizeof *nodes_);
    if (node >= 2 * kStretch) kernel::forget_shared(nodes_ + (node - 2 * kStretch), kStretch * sizeof *nodes_);
}

void StackTree::reserve() {
    const unsigned newest = newest_.load(std::memory_order_acquire);
    for (unsigned table = newest; table <= newest + 2; ++table) memory(table, Pages::kWhenTouched);
}

void StackTree::expect(uint64_t hash) const {
    const unsigned newest = newest_.load(std::memory_order_acquire);
    for (unsigned table = oldest_.load(std::memory_order_relaxed); table <= newest; ++table)
        if (const Slot* slots = table_at(table).slots.load(std::memory_order_relaxed))
            __builtin_prefetch(&slots[first_slot(hash, bits(table))]);
}

uint32_t StackTree::find_in(unsigned table, uint64_t hash, uint32_t parent) const {
    const Slot* slots = table_at(table).slots.load(std::memory_order_acquire);
    if (!slots) return 0;
    const size_t mask = (size_t{1} << bits(table)) - 1;
    const size_t first = first_slot(hash, bits(table));
    for (unsigned i = 0; i < kProbes; ++i) {
        const Slot& slot = slots[(first + i) & mask];
        const uint64_t owner = slot.owner.load(std::memory_order_acquire);
        if (owner == 0) return 0;
        if (slot.hash.load(std::memory_order_relaxed) == hash && owner >> 32 == parent)
            return static_cast<uint32_t>(owner);
    }
    return 0;
}

uint32_t StackTree::find(uint64_t hash, uint32_t parent, unsigned& where) const {
    // Most stand in the newest table.
    const unsigned oldest = oldest_.load(std::memory_order_acquire);
    const unsigned newest = newest_.load(std::memory_order_acquire);
    for (where = newest + 1; where-- > oldest;)
        if (const uint32_t node = find_in(where, hash, parent)) return node;
    if (oldest_.load(std::memory_order_acquire) == oldest && newest_.load(std::memory_order_acquire) == newest) return 0;
    // While the search went down, other threads may have moved the entry up past it. A search that goes up meets it: an
    // entry stands in the newer table before it is gone from the older one. To miss it costs more than a node: all that
    // is below it would be made again, under the new node.
    for (where = oldest; where <= newest_.load(std::memory_order_acquire); ++where)
        if (const uint32_t node = find_in(where, hash, parent)) return node;
    return 0;
}

// Returns the node that now stands for the path: the owner's, or the one that another thread entered first. 0: no room.
uint32_t StackTree::enter(Slot* slots, unsigned table, uint64_t hash, uint64_t owner) {
    const size_t mask = (size_t{1} << bits(table)) - 1;
    const size_t first = first_slot(hash, bits(table));
    for (unsigned i = 0; i < kProbes; ++i) {
        Slot& slot = slots[(first + i) & mask];
        uint64_t there = slot.owner.load(std::memory_order_relaxed);
        if (there == 0 && slot.owner.compare_exchange_strong(there, owner, std::memory_order_acq_rel)) {
            // Of a thread that was away for long: the memory is another table's by now. Without a hash, it is not found.
            if (is_used_again(table) && newest_.load(std::memory_order_acquire) > table + 1)
                return static_cast<uint32_t>(owner);
            slot.hash.store(hash, std::memory_order_release); // at once: until then, others enter the same path again
            table_at(table).entries.fetch_add(1, std::memory_order_relaxed);
            return static_cast<uint32_t>(owner);
        }
        if (there >> 32 == owner >> 32 && slot.hash.load(std::memory_order_acquire) == hash)
            return static_cast<uint32_t>(there);
    }
    return 0;
}

// Moves a group of the oldest table's entries to the newest. A group may be late because its thread is; the table is only
// given up when all have come.
void StackTree::move_some(unsigned newest) {
    const unsigned oldest = oldest_.load(std::memory_order_acquire);
    if (oldest >= newest || is_used_again(oldest)) return;
    Table& from = table_at(oldest);
    const uint32_t groups = (1u << bits(oldest)) / kGroup;
    if (from.moving.load(std::memory_order_relaxed) >= groups) return;
    const uint32_t group = from.moving.fetch_add(1, std::memory_order_relaxed);
    if (group >= groups) return;
    Slot* const old_slots = from.slots.load(std::memory_order_acquire);
    Slot* const new_slots = memory(newest);
    for (unsigned i = 0; i < kGroup; ++i) {
        Slot& slot = old_slots[group * kGroup + i];
        const uint64_t owner = slot.owner.load(std::memory_order_acquire);
        // One that is just being written is left behind: its frame may be created again, which is allowed.
        const uint64_t hash = slot.hash.load(std::memory_order_acquire);
        if (owner != 0 && hash != 0) enter(new_slots, newest, hash, owner);
    }
    if (from.moved.fetch_add(1, std::memory_order_acq_rel) + 1 < groups) return;
    uint32_t expected = oldest;
    if (oldest_.compare_exchange_strong(expected, oldest + 1, std::memory_order_acq_rel))
        kernel::zero(old_slots, sizeof(Slot) << bits(oldest));
}

// Starts the table after `newest`, which is full.
void StackTree::begin_next(unsigned newest) {
    const unsigned next = newest + 1;
    Slot* const slots = memory(next);
    if (!slots) return last_.store(newest, std::memory_order_relaxed); // an address space with a limit
    if (next < kMemories) {
        // The first thread wins. A thread that holds others off here may be stopped, and a small table soon has no room left.
        newest_.compare_exchange_strong(newest, next, std::memory_order_acq_rel);
        return;
    }
    // The memory is that of the oldest table. One thread empties it; the newest table has room for the others meanwhile.
    if (beginning_.exchange(true, std::memory_order_acquire)) return;
    if (newest_.load(std::memory_order_acquire) == newest) {
        oldest_.store(newest, std::memory_order_release);
        for (size_t i = 0; i < size_t{1} << bits(next); ++i) {
            slots[i].hash.store(0, std::memory_order_relaxed);
            slots[i].owner.store(0, std::memory_order_release);
        }
        table_at(next).entries.store(0, std::memory_order_relaxed);
        newest_.store(next, std::memory_order_release);
    }
    beginning_.store(false, std::memory_order_release);
}

// Enters a node into the newest table, starting another one when it is full. `searched` is the newest table of the time
// before the node was made. Returns the node that the index holds for the path: `owner`'s, or the one that another thread
// entered first.
uint32_t StackTree::add_to_index(uint64_t hash, uint64_t owner, unsigned searched) {
    const auto node = static_cast<uint32_t>(owner);
    unsigned newest = newest_.load(std::memory_order_acquire);
    if (table_at(newest).entries.load(std::memory_order_relaxed) >= entries_when_full(newest) &&
        newest < last_.load(std::memory_order_relaxed)) {
        begin_next(newest);
        newest = newest_.load(std::memory_order_acquire);
    }
    Slot* slots = memory(newest);
    if (!slots) return node; // no memory for an index: the frame may be created again later, which is allowed
    move_some(newest);
    // What another thread has entered meanwhile stands in the newest table, or a newer one has come meanwhile, too.
    if (newest != searched) {
        unsigned where;
        if (const uint32_t found = find(hash, static_cast<uint32_t>(owner >> 32), where)) return found;
    }
    const uint32_t entered = enter(slots, newest, hash, owner);
    return entered ? entered : node;
}

// A node was found in a table that will be emptied, and is still in use.
void StackTree::keep(uint64_t hash, uint64_t owner) {
    const unsigned newest = newest_.load(std::memory_order_acquire);
    if (table_at(newest).entries.load(std::memory_order_relaxed) >= entries_when_full(newest)) return;
    if (Slot* slots = memory(newest)) enter(slots, newest, hash, owner);
}

StackTree::Place StackTree::child(const Place& parent, uint64_t key, bool& fresh) {
    const uint64_t hash = hash_below(parent.hash, key);
    const unsigned searched = newest_.load(std::memory_order_acquire);
    if (!fresh) {
        unsigned where;
        if (const uint32_t node = find(hash, parent.node, where)) {
            if (where != searched && is_used_again(where)) keep(hash, uint64_t{parent.node} << 32 | node);
            return {node, hash};
        }
    }
    fresh = false;
    uint32_t node = count_->load(std::memory_order_relaxed);
    do {
        if (node >= capacity_.load(std::memory_order_relaxed)) return {wire::kRootTreeFull, hash};
    } while (!count_->compare_exchange_weak(node, node + 1, std::memory_order_relaxed));
    if (node % kStretch == 0) begin_stretch(node);
    if (node % kStep == 0) footprint::grow(kStep * (sizeof(Slot) * 2 + sizeof(wire::StackNode)));
    nodes_[node].parent = parent.node;
    nodes_[node].key.store(key, std::memory_order_release);
    const uint32_t indexed = add_to_index(hash, uint64_t{parent.node} << 32 | node, searched);
    fresh = indexed == node;
    return {indexed, hash};
}

} // namespace memtoll
