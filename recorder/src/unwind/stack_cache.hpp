// Call stacks of one thread, found fast: tries the prediction table (method 2, prediction.hpp), then walks frames from
// the inside outwards until the rest is the same as last time (method 1).
//
// Method 1 keeps the *image* of the last stack: for each frame its return slot, return address, frame pointer and
// stack-tree node, and the words that decided them. As soon as the walk meets a frame of the image (same slot, same
// address, and the same frame pointer if frames further out are computed from it), it compares those words for all
// frames further out. If they are all unchanged, so are the frames.
//
// Reading memory: on the thread's own stack everything from the lowest stack pointer seen to its end can be read.
// Elsewhere (fibers, alternate signal stacks) words are read strictly from the inside outwards, and the kernel is asked
// before each step onto another page.
#pragma once

#include "../modules.hpp"
#include "../stack_tree.hpp"
#include "../wire.hpp"
#include "cfi.hpp"
#include "prediction.hpp"

namespace memtoll::unwind {

// Whether code is among the callers, and whether it was interrupted by a signal handler on this side of it.
enum class CallerSearch { kNo, kCaller, kInterrupted, kUnknown };

class StackCache {
public:
    // `owner` is handed to `announce` with each module that is met for the first time.
    void start(StackTree* tree, uint32_t depth_limit, AnnounceModule announce, void* owner);

    // Bytes of zeroed memory that start() needs at `memory`.
    static size_t memory_bytes(uint32_t depth_limit);
    void* memory = nullptr;

    // The thread that the cache serves has changed, and with it the stack. `stack_end`: an address at or above the
    // thread's first frame, on the same mapping. For the main thread: where the kernel had it begin.
    void set_stack_end(uintptr_t stack_end);

    // Code was unloaded: nothing that is remembered about addresses holds any longer.
    void forget_code();

    // Whether `address` lies on the part of the thread's own stack that is known so far.
    bool on_own_stack(uintptr_t address) const { return address - stack_low_ < stack_bytes_; }

    // What the stack that `caller` is the innermost frame of may be. Asked for some time before the node itself, it hides
    // the time that memory takes to answer.
    [[gnu::always_inline]] Prediction::Guess guess(const arch::CallerFrame& caller) const {
        return on_own_stack(caller.return_slot) ? prediction_.guess(caller) : Prediction::kNoLeaf;
    }

    // The stack's node. Never kNoStack.
    [[gnu::always_inline]] uint32_t node(const arch::CallerFrame& caller, Prediction::Guess guess) {
        uint32_t known;
        if (prediction_.find(guess, caller, known)) [[likely]]
            return known;
        return walk(caller);
    }
    [[gnu::always_inline]] uint32_t node(const arch::CallerFrame& caller) { return node(caller, guess(caller)); }

    // Whether one of the callers' code lies in `code`, and if so, whether it was interrupted by a signal handler on this
    // side of it.
    using Found = CallerSearch;
    [[gnu::noinline]] Found find_caller_in(const arch::CallerFrame& caller, const Range& code);

    // Whether find_caller_in would say kCaller, because `caller` is `code` itself (operator delete jumps to free), or because
    // it is known from an earlier search and called by `code` itself (operator new calls malloc). False: it has to look.
    bool is_called_directly(const arch::CallerFrame& caller, const Range& code) const {
        if (code.holds(caller.return_address - 1, 1)) return true;
        const Direct& known = direct_[direct_index(caller.return_address)];
        return known.return_address == caller.return_address &&
               code.holds(*reinterpret_cast<const uintptr_t*>(caller.return_slot + known.distance) - 1, 1);
    }

    // Method 1 alone. Also what node() falls back to.
    [[gnu::noinline]] uint32_t walk(arch::CallerFrame caller);

    uint64_t walks = 0;
    uint64_t walked_frames = 0;
    uint32_t full_walks = 0;
    uint32_t rule_misses = 0;

private:
    struct Frame {
        uintptr_t return_slot;
        uintptr_t return_address;
        uintptr_t frame_pointer;
        StackTree::Place place;
        uint32_t items_end;       // items_[0 .. items_end) decide this frame and all further out
        bool needs_frame_pointer; // this frame, or one further out, is computed from frame_pointer
    };

    // A frame that the walk found, before it is known what lies further out.
    struct NewFrame {
        uintptr_t return_slot;
        uintptr_t return_address;
        uintptr_t frame_pointer;
        uint64_t key;
        uintptr_t cfa_word;           // where the CFA was read, 0: computed
        uintptr_t frame_pointer_word; // where the caller's frame pointer was saved, 0: unchanged
        bool uses_frame_pointer;
    };

    // Code whose frame has the same size whenever it makes the call that returns to `return_address`: the return address of
    // its own caller lies `distance` bytes above.
    struct Direct {
        uintptr_t return_address = 0;
        uintptr_t distance = 0;
    };
    static constexpr uint32_t kDirect = 8;
    static uint32_t direct_index(uintptr_t return_address) { return (return_address >> 3) % kDirect; }
    Direct direct_[kDirect];

    // Where a walk stands.
    struct Position {
        uintptr_t return_slot;
        uintptr_t return_address;
        uintptr_t frame_pointer;
        uintptr_t stack_pointer;
        bool interrupted = false; // return_address is where a signal struck

        explicit Position(const arch::CallerFrame& caller)
            : return_slot(caller.return_slot), return_address(caller.return_address),
              frame_pointer(caller.frame_pointer), stack_pointer(caller.return_slot + sizeof(uintptr_t)) {}
        uintptr_t code() const { return interrupted ? return_address : return_address - 1; }
    };

    // What a walk found.
    struct Walk {
        uint32_t kept = 0;  // frames of the image that stand as they were, the outermost ones
        uint32_t fresh = 0; // frames inside of these, in fresh_ from the innermost outwards
        uint32_t root = wire::kRootComplete;
        bool one_stack = true;       // no signal frame: all frames lie on one stack
        bool every_register = false; // the last frame cannot be left without knowing all registers
    };

    struct CachedRule {
        uintptr_t address; // 0: empty
        Rule rule;
        uint16_t module;
    };

    void forget_rules();
    bool find_row_of_call(const CfiSections& sections, uintptr_t address);
    const CachedRule& rule_for(uintptr_t address);
    [[gnu::always_inline]] bool step(const Rule& rule, Position& at, uintptr_t& cfa_word,
                                     uintptr_t& frame_pointer_word) const;
    bool may_read(uintptr_t word, uintptr_t known_good) const;
    uint32_t root_without_rule(uintptr_t stack_pointer) const;
    bool unchanged_from(uint32_t frame, uint32_t& changed_frame) const;
    [[gnu::noinline]] uint32_t walk_every_register(const arch::CallerFrame& caller);
    Walk find_new_frames(const arch::CallerFrame& caller);
    void note_own_stack(uintptr_t low, const Walk& walk);
    void enter_new_frames(const Walk& walk);
    void push(const StackTree::Place& parent, const NewFrame& fresh, bool outer_needs_frame_pointer, bool& is_new_node);
    uint32_t walk_afresh(const arch::CallerFrame& caller);
    void learn(const arch::CallerFrame& caller, const Frame& innermost);

    uintptr_t stack_low_ = 0;
    uintptr_t stack_bytes_ = 0; // 0 until the thread's own stack is known
    Prediction prediction_;

    uintptr_t stack_end_ = 0;
    StackTree* tree_ = nullptr;
    AnnounceModule announce_ = nullptr;
    void* owner_ = nullptr;
    uint32_t depth_limit_ = 0;

    // The image, outermost frame first.
    uint32_t depth_ = 0;
    Frame* frames_ = nullptr;
    Item* items_ = nullptr;

    NewFrame* fresh_ = nullptr;
    CachedRule* rules_ = nullptr;
    uint32_t rule_mask_ = 0;
    uint32_t rule_misses_at_growth_ = 0;
    uint32_t* seen_once_ = nullptr;
    CfiScratch* scratch_ = nullptr;
};

} // namespace memtoll::unwind
