// The stack tree: every distinct call stack of the process, as a path from a root to a node.
//
// A node is a frame under its caller: (parent node, module and call address). Nodes live in the arena, where the
// supervisor reads them; the index that finds an existing node is private to the process. Both only ever grow, and
// nobody ever waits for anybody: two threads that add the same frame at the same time may create it twice, and every
// reader of the tree must treat equal paths as equal.
#pragma once

#include "wire.hpp"

#include <atomic>
#include <cstdint>

namespace memtoll {

class StackTree {
public:
    // `nodes` is the arena's node array, with room for `capacity`; `count` its counter, which starts at
    // wire::kFirstNode.
    void start(wire::StackNode* nodes, std::atomic<uint32_t>* count, uint32_t capacity);

    // Forgets everything. The index stays mapped: an interrupted look-up may yet go on in it (see repair_after_fork).
    void clear();

    // The node for `key` (never 0) under `parent`; wire::kRootTreeFull when there is no room for a new one.
    uint32_t child(uint32_t parent, uint64_t key) {
        bool fresh = false;
        return child(parent, key, fresh);
    }

    // The same along a path: `fresh` says whether `parent` was made by the call before, so that it cannot have children
    // that are worth a search, and then whether the result was.
    uint32_t child(uint32_t parent, uint64_t key, bool& fresh);

private:
    // Index tables, each four times the size of the one before. Lookups start with the newest; a node found in an older
    // one is added to the newest.
    static constexpr unsigned kTables = 10;
    static constexpr unsigned table_bits(unsigned number) { return 12 + 2 * number; }

    // 63..32 the hash's upper half, 31..0 the node, 0 = empty. Most nodes that are not the one wanted are passed by without
    // a look at them, which would be a cache miss each.
    using Slot = std::atomic<uint64_t>;

    struct Table {
        std::atomic<Slot*> slots{nullptr};
        std::atomic<uint32_t> used{0};
    };

    bool is(uint64_t slot, uint64_t hash, uint32_t parent, uint64_t key) const;
    uint32_t find(const Slot* slots, unsigned bits, uint64_t hash, uint32_t parent, uint64_t key) const;
    uint32_t add_to_index(uint64_t hash, uint32_t parent, uint64_t key, uint32_t node);
    Slot* table(unsigned number);

    wire::StackNode* nodes_ = nullptr;
    std::atomic<uint32_t>* count_ = nullptr;
    uint32_t capacity_ = 0;
    std::atomic<uint32_t> newest_{0};
    Table tables_[kTables];
};

} // namespace memtoll
