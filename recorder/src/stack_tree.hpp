// The stack tree: every distinct call stack of the process, as a path from a root to a node.
//
// A node is a frame under its caller: (parent node, module and call address). Nodes live in the arena, where the
// supervisor reads them; the index that finds an existing node is private to the process. Both only ever grow, and
// nobody ever waits for anybody: two threads that add the same frame at the same time may create it twice, and every
// reader of the tree must treat equal paths as equal.
//
// The index is made for being larger than the caches. It finds a frame by the hash of its whole path, so that the places of
// all frames of a stack are known, and fetched from memory together, before the first of them is looked up. And a place
// says by itself whether it is the one: the hash of a path follows from its parent's hash and the last key in a way that
// loses nothing of the key, so that for one parent equal hashes are equal keys.
#pragma once

#include "wire.hpp"

#include <atomic>
#include <cstdint>

namespace memtoll {

class StackTree {
public:
    // A node, and the hash of its path.
    struct Place {
        uint32_t node;
        uint64_t hash;
    };

    static Place root(uint32_t root) { return {root, hash_below(root, 0)}; }
    static uint64_t hash_below(uint64_t hash, uint64_t key) {
        // Each step can be undone: different keys under one hash have different hashes.
        uint64_t h = (hash + key) * 0x9e3779b97f4a7c15u;
        h ^= h >> 32;
        h *= 0xbf58476d1ce4e5b9u;
        return h ^ h >> 29;
    }

    // `nodes` is the arena's node array, with room for `capacity`; `count` its counter, which starts at
    // wire::kFirstNode.
    void start(wire::StackNode* nodes, std::atomic<uint32_t>* count, uint32_t capacity);

    // From now on, there is room for fewer.
    void lower_capacity(uint32_t capacity) { capacity_.store(capacity, std::memory_order_relaxed); }

    // Forgets everything. The index stays mapped: an interrupted look-up may yet go on in it (see repair_after_fork).
    void clear();

    // Makes room in advance, for when no more memory is to be had.
    void reserve();

    // A path of this hash will soon be asked for.
    void expect(uint64_t hash) const;

    // The node for `key` (never 0) under `parent`; wire::kRootTreeFull when there is no room for a new one. `fresh` says
    // whether `parent` was made by the call before, so that it cannot have children that are worth a search, and then
    // whether the result was.
    Place child(const Place& parent, uint64_t key, bool& fresh);

private:
    // Each table is twice the size of the one before. When one is half full, the next one takes its place, and each
    // new entry brings some of the old ones along; until all have come, both are searched.
    static constexpr unsigned kFirstBits = 12;
    static constexpr unsigned kTables = 16;
    static constexpr unsigned bits(unsigned table) { return kFirstBits + table; }

    // Free while `owner` is 0; `hash` is written after it.
    struct Slot {
        std::atomic<uint64_t> owner; // 63..32 the parent, 31..0 the node
        std::atomic<uint64_t> hash;
    };

    struct Table {
        std::atomic<Slot*> slots{nullptr};
        // Of the move to the next table: groups of slots that were taken up, and that have come.
        std::atomic<uint32_t> moving{0};
        std::atomic<uint32_t> moved{0};
    };

    Slot* memory(unsigned table);
    uint32_t find(uint64_t hash, uint32_t parent) const; // 0: there is none
    uint32_t find_in(unsigned table, uint64_t hash, uint32_t parent) const;
    uint32_t enter(Slot* slots, unsigned table, uint64_t hash, uint64_t owner);
    uint32_t add_to_index(uint64_t hash, uint64_t owner, unsigned searched);
    void move_some(unsigned newest);

    wire::StackNode* nodes_ = nullptr;
    std::atomic<uint32_t>* count_ = nullptr;
    std::atomic<uint32_t> capacity_ = 0;
    std::atomic<uint32_t> newest_{0};
    std::atomic<uint32_t> oldest_{0}; // of those that are searched
    std::atomic<uint32_t> last_{kTables - 1}; // that there can be
    Table tables_[kTables];
};

} // namespace memtoll
