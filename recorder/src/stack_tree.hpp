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

    // Forgets everything; the index's memory is kept for the next start().
    void clear();

    // The node for `key` (never 0) under `parent`; wire::kRootTreeFull when there is no room for a new one.
    uint32_t child(uint32_t parent, uint64_t key);

private:
    // Index tables of doubling size. Lookups start with the newest; a node found in an older one is added to the newest.
    static constexpr unsigned kTables = 20;
    static constexpr unsigned kFirstTableBits = 12;

    struct Table {
        std::atomic<std::atomic<uint32_t>*> slots{nullptr}; // node ids, 0 = empty
        std::atomic<uint32_t> used{0};
    };

    uint32_t find(std::atomic<uint32_t>* slots, unsigned bits, uint64_t hash, uint32_t parent, uint64_t key) const;
    uint32_t add_to_index(uint64_t hash, uint32_t parent, uint64_t key, uint32_t node);
    std::atomic<uint32_t>* table(unsigned number);

    wire::StackNode* nodes_ = nullptr;
    std::atomic<uint32_t>* count_ = nullptr;
    uint32_t capacity_ = 0;
    std::atomic<uint32_t> newest_{0};
    Table tables_[kTables];
};

} // namespace memtoll
