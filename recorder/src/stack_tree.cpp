#include "stack_tree.hpp"

#include "kernel.hpp"

namespace memtoll {
namespace {

// Linear probing gives up after this many slots: the table is then as good as full.
constexpr unsigned kProbes = 32;

uint64_t hash_of(uint32_t parent, uint64_t key) {
    uint64_t h = (key ^ (uint64_t{parent} << 32 | parent)) * 0x9e3779b97f4a7c15u;
    h ^= h >> 29;
    return h * 0xbf58476d1ce4e5b9u;
}

} // namespace

void StackTree::start(wire::StackNode* nodes, std::atomic<uint32_t>* count, uint32_t capacity) {
    nodes_ = nodes;
    count_ = count;
    capacity_ = capacity;
}

void StackTree::clear() {
    for (unsigned i = 0; i < kTables; ++i) {
        std::atomic<uint32_t>* slots = tables_[i].slots.load(std::memory_order_relaxed);
        if (slots) kernel::unmap(slots, sizeof(uint32_t) << (kFirstTableBits + i));
        tables_[i].slots.store(nullptr, std::memory_order_relaxed);
        tables_[i].used.store(0, std::memory_order_relaxed);
    }
    newest_.store(0, std::memory_order_relaxed);
}

std::atomic<uint32_t>* StackTree::table(unsigned number) {
    std::atomic<uint32_t>* slots = tables_[number].slots.load(std::memory_order_acquire);
    if (slots) [[likely]]
        return slots;
    const size_t bytes = sizeof(uint32_t) << (kFirstTableBits + number);
    auto* fresh = static_cast<std::atomic<uint32_t>*>(kernel::map_private(bytes));
    if (!fresh) return nullptr;
    if (tables_[number].slots.compare_exchange_strong(slots, fresh, std::memory_order_acq_rel)) return fresh;
    kernel::unmap(fresh, bytes); // another thread was faster
    return slots;
}

uint32_t StackTree::find(std::atomic<uint32_t>* slots, unsigned bits, uint64_t hash, uint32_t parent,
                         uint64_t key) const {
    const uint64_t mask = (uint64_t{1} << bits) - 1;
    for (unsigned i = 0; i < kProbes; ++i) {
        const uint32_t node = slots[(hash + i) & mask].load(std::memory_order_acquire);
        if (node == 0) return 0;
        if (nodes_[node].parent == parent && nodes_[node].key.load(std::memory_order_relaxed) == key) return node;
    }
    return 0;
}

// Enters `node` into the newest table, starting a larger one when it is half full. Returns the node that the index
// holds for the key: `node`, or the one that another thread entered first.
uint32_t StackTree::add_to_index(uint64_t hash, uint32_t parent, uint64_t key, uint32_t node) {
    for (;;) {
        const unsigned number = newest_.load(std::memory_order_acquire);
        std::atomic<uint32_t>* slots = table(number);
        if (!slots) return node; // no memory for an index: the frame may be created again later, which is allowed
        const unsigned bits = kFirstTableBits + number;
        const uint64_t mask = (uint64_t{1} << bits) - 1;
        bool full = tables_[number].used.load(std::memory_order_relaxed) > mask / 2;
        if (!full) {
            full = true;
            for (unsigned i = 0; i < kProbes; ++i) {
                std::atomic<uint32_t>& slot = slots[(hash + i) & mask];
                uint32_t there = 0;
                if (slot.compare_exchange_strong(there, node, std::memory_order_acq_rel)) {
                    tables_[number].used.fetch_add(1, std::memory_order_relaxed);
                    return node;
                }
                if (nodes_[there].parent == parent && nodes_[there].key.load(std::memory_order_relaxed) == key)
                    return there;
            }
        }
        if (number + 1 == kTables) return node;
        uint32_t expected = number;
        newest_.compare_exchange_strong(expected, number + 1, std::memory_order_acq_rel);
    }
}

uint32_t StackTree::child(uint32_t parent, uint64_t key) {
    const uint64_t hash = hash_of(parent, key);
    const unsigned newest = newest_.load(std::memory_order_acquire);
    for (unsigned number = newest + 1; number-- > 0;) {
        std::atomic<uint32_t>* slots = tables_[number].slots.load(std::memory_order_acquire);
        if (!slots) continue;
        const uint32_t node = find(slots, kFirstTableBits + number, hash, parent, key);
        if (node == 0) continue;
        if (number != newest) add_to_index(hash, parent, key, node);
        return node;
    }
    uint32_t node = count_->load(std::memory_order_relaxed);
    do {
        if (node >= capacity_) return wire::kRootTreeFull;
    } while (!count_->compare_exchange_weak(node, node + 1, std::memory_order_relaxed));
    nodes_[node].parent = parent;
    nodes_[node].key.store(key, std::memory_order_release);
    return add_to_index(hash, parent, key, node);
}

} // namespace memtoll
