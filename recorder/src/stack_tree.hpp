// The stack tree: every distinct call stack of the process, as a path from a root to a node.
//
// A node is a frame under its caller: (parent node, module and call address). Nodes live in the arena, where the
// supervisor reads them; the index that finds an existing node is private to the process. No thread ever waits for another:
// two threads that add the same frame at the same time may create it twice, and every reader of the tree must treat equal
// paths as equal.
//
// The tree takes little of the process's memory, however many stacks there are. The recorder never reads a node again, so
// the pages of nodes that are written are given back (the supervisor keeps them). The index grows to two tables of 1 MiB and
// then forgets what was not asked for in a while. A frame that is met again after that gets another node.
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
    // wire::kFirstNode. `shared`: the nodes begin with a page and another process keeps them, too.
    void start(wire::StackNode* nodes, std::atomic<uint32_t>* count, uint32_t capacity, bool shared);

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

    // Nodes that the process has in memory, about.
    uint32_t resident_nodes() const;
    // How much of the index is in memory, bytes.
    size_t resident_index() const;

    // Frames that the index knows at least: those that were asked for last.
    static constexpr uint32_t kRemembered = 5u << (16 - 3);

private:
    // Free while `owner` is 0; `hash` is written after it.
    struct Slot {
        std::atomic<uint64_t> owner; // 63..32 the parent, 31..0 the node
        std::atomic<uint64_t> hash;
    };

    struct Table {
        std::atomic<Slot*> slots{nullptr};
        std::atomic<uint32_t> entries{0};
        // Of the move to the next table: groups of slots that were taken up, and that have come.
        std::atomic<uint32_t> moving{0};
        std::atomic<uint32_t> moved{0};
    };

    // Each table is twice the size of the one before, up to the largest size. When one is full, the next one takes its
    // place, and each new entry brings some of the old ones along; until all have come, both are searched. Of two tables of
    // the largest size, the older one keeps its entries: those that are asked for come to stand in the newer one, too, and
    // when that is full, the older one is emptied and takes its place.
    static constexpr unsigned kFirstBits = 12;
    static constexpr unsigned kLastBits = 16;
    static constexpr unsigned kFirstOfLargest = kLastBits - kFirstBits;
    static constexpr unsigned kMemories = kFirstOfLargest + 2;
    static_assert(kRemembered == (5u << kLastBits) / 8);
    static constexpr unsigned bits(unsigned table) { return table < kFirstOfLargest ? kFirstBits + table : kLastBits; }
    static constexpr uint32_t entries_when_full(unsigned table) { return (5u << bits(table)) / 8; }
    // Where a table's memory is. Those of the largest size take turns.
    static constexpr unsigned place_of(unsigned table) {
        return table < kFirstOfLargest ? table : kFirstOfLargest + (table - kFirstOfLargest) % 2;
    }
    static constexpr bool is_used_again(unsigned table) { return table >= kFirstOfLargest; }
    Table& table_at(unsigned table) { return tables_[place_of(table)]; }
    const Table& table_at(unsigned table) const { return tables_[place_of(table)]; }

    // Nodes are written in one stretch of this many, and another one may be in use yet.
    static constexpr uint32_t kStretch = 4096;

    enum class Pages { kNow, kWhenTouched };
    Slot* memory(unsigned table, Pages pages = Pages::kNow);
    // 0: there is none. `where`: the table that it stands in.
    uint32_t find(uint64_t hash, uint32_t parent, unsigned& where) const;
    uint32_t find_in(unsigned table, uint64_t hash, uint32_t parent) const;
    uint32_t enter(Slot* slots, unsigned table, uint64_t hash, uint64_t owner);
    uint32_t add_to_index(uint64_t hash, uint64_t owner, unsigned searched);
    void begin_next(unsigned newest);
    void keep(uint64_t hash, uint64_t owner);
    void move_some(unsigned newest);
    void begin_stretch(uint32_t node);

    wire::StackNode* nodes_ = nullptr;
    std::atomic<uint32_t>* count_ = nullptr;
    std::atomic<uint32_t> capacity_ = 0;
    bool shared_ = false;
    std::atomic<uint32_t> newest_{0};
    std::atomic<uint32_t> oldest_{0}; // of those that are searched
    std::atomic<uint32_t> last_{UINT32_MAX}; // that there can be
    std::atomic<bool> beginning_{false}; // the next table
    Table tables_[kMemories];
};

} // namespace memtoll
