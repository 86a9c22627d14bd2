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
        Slot* slots = tables_[i].slots.load(std::memory_order_relaxed);
        if (slots) kernel::zero(slots, sizeof(Slot) << table_bits(i));
        tables_[i].used.store(0, std::memory_order_relaxed);
    }
    newest_.store(0, std::memory_order_relaxed);
}

StackTree::Slot* StackTree::table(unsigned number) {
    Slot* slots = tables_[number].slots.load(std::memory_order_acquire);
    if (slots) [[likely]]
        return slots;
    const size_t bytes = sizeof(Slot) << table_bits(number);
    // A large table is touched all over, and would need more pages than the processor can keep the addresses of.
    auto* fresh =
        static_cast<Slot*>(bytes < kernel::kHugePage ? kernel::map_private(bytes) : kernel::map_private_huge(bytes));
    if (!fresh) return nullptr;
    if (tables_[number].slots.compare_exchange_strong(slots, fresh, std::memory_order_acq_rel)) return fresh;
    kernel::unmap(fresh, bytes); // another thread was faster
    return slots;
}

// Whether a slot's content stands for this frame.
bool StackTree::is(uint64_t slot, uint64_t hash, uint32_t parent, uint64_t key) const {
    if ((slot ^ hash) >> 32 != 0) return false;
    const wire::StackNode& node = nodes_[static_cast<uint32_t>(slot)];
    return node.parent == parent && node.key.load(std::memory_order_relaxed) == key;
}

uint32_t StackTree::find(const Slot* slots, unsigned bits, uint64_t hash, uint32_t parent, uint64_t key) const {
    const uint64_t mask = (uint64_t{1} << bits) - 1;
    for (unsigned i = 0; i < kProbes; ++i) {
        const uint64_t slot = slots[(hash + i) & mask].load(std::memory_order_acquire);
        if (slot == 0) return 0;
        if (is(slot, hash, parent, key)) return static_cast<uint32_t>(slot);
    }
    return 0;
}

// Enters `node` into the newest table, starting a larger one when it is half full. Returns the node that the index
// holds for the key: `node`, or the one that another thread entered first.
uint32_t StackTree::add_to_index(uint64_t hash, uint32_t parent, uint64_t key, uint32_t node) {
    for (;;) {
        const unsigned number = newest_.load(std::memory_order_acquire);
        Slot* slots = table(number);
        if (!slots) return node; // no memory for an index: the frame may be created again later, which is allowed
        const uint64_t mask = (uint64_t{1} << table_bits(number)) - 1;
        if (tables_[number].used.load(std::memory_order_relaxed) <= mask / 2) {
            for (unsigned i = 0; i < kProbes; ++i) {
                uint64_t there = 0;
                if (slots[(hash + i) & mask].compare_exchange_strong(there, (hash >> 32) << 32 | node,
                                                                     std::memory_order_acq_rel)) {
                    tables_[number].used.fetch_add(1, std::memory_order_relaxed);
                    return node;
                }
                if (is(there, hash, parent, key)) return static_cast<uint32_t>(there);
            }
        }
        if (number + 1 == kTables) return node;
        uint32_t expected = number;
        newest_.compare_exchange_strong(expected, number + 1, std::memory_order_acq_rel);
    }
}

uint32_t StackTree::child(uint32_t parent, uint64_t key, bool& fresh) {
    const uint64_t hash = hash_of(parent, key);
    if (!fresh) {
        const unsigned newest = newest_.load(std::memory_order_acquire);
        // The tables are too large for the caches: their misses should not wait for each other.
        for (unsigned number = 0; number <= newest; ++number)
            if (const Slot* slots = tables_[number].slots.load(std::memory_order_relaxed))
                __builtin_prefetch(&slots[hash & ((uint64_t{1} << table_bits(number)) - 1)]);
        for (unsigned number = newest + 1; number-- > 0;) {
            const Slot* slots = tables_[number].slots.load(std::memory_order_acquire);
            if (!slots) continue;
            const uint32_t node = find(slots, table_bits(number), hash, parent, key);
            if (node == 0) continue;
            if (number != newest) add_to_index(hash, parent, key, node);
            return node;
        }
    }
    fresh = false;
    uint32_t node = count_->load(std::memory_order_relaxed);
    do {
        if (node >= capacity_) return wire::kRootTreeFull;
    } while (!count_->compare_exchange_weak(node, node + 1, std::memory_order_relaxed));
    nodes_[node].parent = parent;
    nodes_[node].key.store(key, std::memory_order_release);
    const uint32_t indexed = add_to_index(hash, parent, key, node);
    fresh = indexed == node;
    return indexed;
}

} // namespace memtoll
