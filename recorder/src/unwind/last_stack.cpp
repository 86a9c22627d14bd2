#include "last_stack.hpp"

namespace memtoll::unwind {
namespace {

constexpr uint32_t kItemsPerFrame = 3;

} // namespace

size_t LastStack::memory_bytes(uint32_t depth_limit) {
    return Pieces::bytes<Frame>(depth_limit) + Pieces::bytes<Item>(size_t{depth_limit} * kItemsPerFrame);
}

void LastStack::start(Pieces& memory, uint32_t depth_limit, StackTree* tree) {
    frames_ = memory.take<Frame>(depth_limit);
    items_ = memory.take<Item>(size_t{depth_limit} * kItemsPerFrame);
    tree_ = tree;
}

inline void LastStack::push(const StackTree::Place& parent, const NewFrame& fresh, bool outer_needs_frame_pointer,
                            bool& is_new_node) {
    Frame& frame = frames_[depth_];
    uint32_t items = depth_ > 0 ? frames_[depth_ - 1].items_end : 0;
    // Read backwards, each word's address is decided by the words behind it.
    items_[items++] = {arch::slot_of(fresh.position), fresh.return_address};
    if (fresh.read.frame_pointer != 0 && outer_needs_frame_pointer)
        items_[items++] = {fresh.read.frame_pointer, word_at(fresh.read.frame_pointer)};
    if (fresh.read.cfa != 0) items_[items++] = {fresh.read.cfa, word_at(fresh.read.cfa)};
    frame.position = fresh.position;
    frame.return_address = fresh.return_address;
    frame.frame_pointer = fresh.frame_pointer;
    frame.place = tree_->child(parent, fresh.key, is_new_node);
    frame.items_end = items;
    frame.needs_frame_pointer =
        fresh.uses_frame_pointer || (fresh.read.frame_pointer == 0 && outer_needs_frame_pointer);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    ++depth_;
}

void LastStack::replace(uint32_t kept, const NewFrame* fresh, uint32_t count, uint32_t root) {
    depth_ = kept;
    const StackTree::Place below = depth_ > 0 ? innermost().place : StackTree::root(root);
    uint64_t hash = below.hash;
    for (uint32_t i = count; i-- > 0;) tree_->expect(hash = StackTree::hash_below(hash, fresh[i].key));
    bool is_new_node = false;
    for (uint32_t i = count; i-- > 0;) {
        const bool outermost = depth_ == 0;
        push(outermost ? below : innermost().place, fresh[i], !outermost && innermost().needs_frame_pointer, is_new_node);
    }
}

} // namespace memtoll::unwind
