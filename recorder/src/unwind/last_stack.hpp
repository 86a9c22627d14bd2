// The image of a thread's last stack: for each frame its return slot, return address, frame pointer and stack-tree node,
// and the words that decided them.
//
// As soon as a walk meets a frame of the image (same slot, same address, and the same frame pointer if frames further out
// are computed from it), those words are compared for all frames further out. If they are all unchanged, so are the frames.
#pragma once

#include "../stack_tree.hpp"
#include "prediction.hpp"
#include "rule_cache.hpp"
#include "step.hpp"

namespace memtoll::unwind {

// A frame that a walk found, before it is known what lies further out.
struct NewFrame {
    uintptr_t position; // arch::position
    uintptr_t return_address;
    uintptr_t frame_pointer;
    uint64_t key;
    WordsRead read;
    bool uses_frame_pointer;
};

// A frame's key in the stack tree.
inline uint64_t frame_key(uint16_t module, uintptr_t code) {
    return uint64_t{module} << wire::kModuleShift | (code & wire::kAddressMask);
}

class LastStack {
public:
    struct Frame {
        uintptr_t position; // arch::position
        uintptr_t return_address;
        uintptr_t frame_pointer;
        StackTree::Place place;
        uint32_t items_end;       // items()[0 .. items_end) decide this frame and all further out
        bool needs_frame_pointer; // this frame, or one further out, is computed from frame_pointer
    };

    void start(Pieces& memory, uint32_t depth_limit, StackTree* tree);
    static size_t memory_bytes(uint32_t depth_limit);

    void forget() { depth_ = 0; }

    uint32_t depth() const { return depth_; }
    // Outermost first.
    const Frame& frame(uint32_t index) const { return frames_[index]; }
    const Frame& innermost() const { return frames_[depth_ - 1]; }
    const Item* items() const { return items_; }

    // How many frames, from the outermost on, stand as they were, given that a walk that goes outwards has come to `at`; 0 if
    // it has not met any. `candidates`: frames that may still be met, depth() at first; kept up to date.
    [[gnu::always_inline]] uint32_t kept(const Position& at, uint32_t& candidates) const {
        while (candidates > 0 && arch::slot_of(frames_[candidates - 1].position) < at.return_slot) --candidates;
        if (candidates == 0) return 0;
        const Frame& known = frames_[candidates - 1];
        if (known.position != arch::position(at.return_slot, at.stack_pointer) || known.return_address != at.return_address || at.interrupted ||
            (known.needs_frame_pointer && known.frame_pointer != at.frame_pointer))
            return 0;
        uint32_t changed;
        if (unchanged_from(candidates - 1, changed)) return candidates;
        candidates = changed;
        return 0;
    }

    // Keeps `kept` frames; the others are replaced by `count` from `fresh`, innermost first. `root`: how the stack ends if
    // none is kept.
    void replace(uint32_t kept, const NewFrame* fresh, uint32_t count, uint32_t root);

private:
    // Whether all words that decide frame `frame` and those further out are as they were; if not, the frame whose word has
    // changed. Strictly from the inside outwards: each match vouches for the next address.
    [[gnu::always_inline]] bool unchanged_from(uint32_t frame, uint32_t& changed_frame) const {
        for (uint32_t i = frames_[frame].items_end; i-- > 0;) {
            if (word_at(items_[i].address) == items_[i].value) [[likely]]
                continue;
            changed_frame = frame;
            while (changed_frame > 0 && frames_[changed_frame - 1].items_end > i) --changed_frame;
            return false;
        }
        return true;
    }
    void push(const StackTree::Place& parent, const NewFrame& fresh, bool outer_needs_frame_pointer, bool& is_new_node);

    uint32_t depth_ = 0;
    Frame* frames_ = nullptr;
    Item* items_ = nullptr;
    StackTree* tree_ = nullptr;
};

} // namespace memtoll::unwind
