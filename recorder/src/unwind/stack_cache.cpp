#include "stack_cache.hpp"

#include "../kernel.hpp"
#include "../switches.hpp"

#include <cstring>

namespace memtoll::unwind {
namespace {

constexpr uint32_t kFirstRules = 256;
constexpr uint32_t kMaxRules = 16384;
constexpr uint32_t kSeenOnce = 1024;
// A stack that is too deep is named by this many of its innermost frames: few enough that the stacks of a recursion
// soon repeat, whatever their depth.
constexpr uint32_t kTooDeepFrames = 64;
// The thread's first frame lies at most this far below the end of its stack (static thread-local storage and, for the
// main thread, the arguments and the environment lie between).
constexpr uintptr_t kEndSlack = 1 << 20;
// So far below what is known of a thread's stack, it may still be taken for the same stack.
constexpr uintptr_t kDeeper = 256 << 10;
constexpr uintptr_t kPage = 4096;
// Two frames further apart than this may lie on different stacks, with unmapped memory between them.
constexpr uintptr_t kLargestFrame = uintptr_t{16} << 20;

uintptr_t word_at(uintptr_t address) { return *reinterpret_cast<const uintptr_t*>(address); }

size_t aligned(size_t bytes) { return (bytes + 63) & ~size_t{63}; }

} // namespace

size_t StackCache::memory_bytes(uint32_t depth_limit) {
    return aligned(sizeof(CfiScratch)) + aligned(kSeenOnce * sizeof(uint32_t)) +
           aligned(depth_limit * sizeof(NewFrame)) + aligned(depth_limit * sizeof(Frame)) +
           aligned(depth_limit * 3 * sizeof(Item)) + aligned(kMaxRules * sizeof(CachedRule)) + Prediction::kMemoryBytes;
}

void StackCache::start(StackTree* tree, uint32_t depth_limit, AnnounceModule announce, void* owner) {
    tree_ = tree;
    depth_limit_ = depth_limit;
    announce_ = announce;
    owner_ = owner;
    auto* at = static_cast<char*>(memory);
    auto take = [&](size_t bytes) {
        char* piece = at;
        at += aligned(bytes);
        return static_cast<void*>(piece);
    };
    scratch_ = static_cast<CfiScratch*>(take(sizeof(CfiScratch)));
    seen_once_ = static_cast<uint32_t*>(take(kSeenOnce * sizeof(uint32_t)));
    fresh_ = static_cast<NewFrame*>(take(depth_limit * sizeof(NewFrame)));
    frames_ = static_cast<Frame*>(take(depth_limit * sizeof(Frame)));
    items_ = static_cast<Item*>(take(depth_limit * 3 * sizeof(Item)));
    rules_ = static_cast<CachedRule*>(take(kMaxRules * sizeof(CachedRule)));
    rule_mask_ = kFirstRules - 1;
    prediction_.start(take(Prediction::kMemoryBytes));
}

void StackCache::set_stack_end(uintptr_t stack_end) {
    if (stack_end == stack_end_) return; // the C library reuses stacks: what is known about this one still holds
    stack_end_ = stack_end;
    stack_low_ = 0;
    stack_bytes_ = 0;
    depth_ = 0;
    prediction_.clear();
}

void StackCache::forget_code() {
    depth_ = 0;
    prediction_.clear();
    forget_rules();
    for (Direct& known : direct_) known = {};
    memset(seen_once_, 0, kSeenOnce * sizeof(uint32_t));
}

void StackCache::forget_rules() {
    for (uint32_t i = 0; i <= rule_mask_; ++i) rules_[i].address = 0;
}

// The row for the call at `address`, in scratch_.
bool StackCache::find_row_of_call(const CfiSections& sections, uintptr_t address) {
    if (find_row(sections, address, *scratch_)) return true;
    // The return address is the first instruction of a function and nothing lies before it: it was not left by a call
    // but laid there by somebody who made this stack by hand (makecontext). The stack ends here.
    if (!find_row(sections, address + 1, *scratch_)) return false;
    scratch_->row.registers[arch::kReturnAddress].kind = RegisterRule::kUndefined;
    return true;
}

const StackCache::CachedRule& StackCache::rule_for(uintptr_t address) {
    const uint64_t hash = address * 0x9e3779b97f4a7c15u;
    CachedRule& known = rules_[(hash >> 40) & rule_mask_];
    if (known.address == address) [[likely]]
        return known;
    ++rule_misses;
    if (rule_misses - rule_misses_at_growth_ > rule_mask_ && rule_mask_ + 1 < kMaxRules) {
        // Many more code addresses than places. The old ones are forgotten: most would be in the wrong place.
        forget_rules();
        rule_mask_ = rule_mask_ * 4 + 3;
        static_assert(kMaxRules == kFirstRules << 6);
        MEMTOLL_INVARIANT(rule_mask_ < kMaxRules);
        rule_misses_at_growth_ = rule_misses;
    }
    CachedRule& fresh = rules_[(hash >> 40) & rule_mask_];
    Module module;
    fresh.address = 0; // should a signal handler's longjmp leave us here half-way
    std::atomic_signal_fence(std::memory_order_seq_cst);
    fresh.module = module_at(address, module, announce_, owner_);
    fresh.rule = Rule{};
    if (fresh.module != kNoModule && module.cfi.eh_frame_hdr != 0 && find_row_of_call(module.cfi, address))
        fresh.rule = compress(scratch_->row, address);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    fresh.address = address;
    return fresh;
}

// Whether the word at `word` may be read, given that the one at `known_good` may.
bool StackCache::may_read(uintptr_t word, uintptr_t known_good) const {
    if ((word & (sizeof(uintptr_t) - 1)) != 0) return false;
    if (on_own_stack(word) || word / kPage == known_good / kPage) return true;
    // Where the kernel may not be asked, the stack is taken to reach without a hole from what was just read to what is
    // known of it. (Below the main thread's, the kernel keeps a gap of 1 MiB.)
    if (kernel::silent.load(std::memory_order_relaxed))
        return known_good < word && word < stack_low_ && stack_low_ - known_good < kDeeper && stack_bytes_ != 0;
    return kernel::readable(word);
}

// How a stack ends at code without a rule. The process's entry in the loader is such code on glibc: it calls the
// constructors of libraries, and is known by its stack pointer, which stands at the very beginning of the stack.
uint32_t StackCache::root_without_rule(uintptr_t stack_pointer) const {
    return stack_end_ - stack_pointer < 2 * sizeof(uintptr_t) ? wire::kRootComplete : wire::kRootNoRule;
}

// Whether all words that decide frame `frame` and those further out are as they were; if not, the frame whose word has
// changed. Strictly from the inside outwards: each match vouches for the next address.
bool StackCache::unchanged_from(uint32_t frame, uint32_t& changed_frame) const {
    for (uint32_t i = frames_[frame].items_end; i-- > 0;) {
        if (word_at(items_[i].address) == items_[i].value) [[likely]]
            continue;
        changed_frame = frame;
        while (changed_frame > 0 && frames_[changed_frame - 1].items_end > i) --changed_frame;
        return false;
    }
    return true;
}

void StackCache::push(const StackTree::Place& parent, const NewFrame& fresh, bool outer_needs_frame_pointer, bool& is_new_node) {
    Frame& frame = frames_[depth_];
    uint32_t items = depth_ > 0 ? frames_[depth_ - 1].items_end : 0;
    // Read backwards, each word's address is decided by the words behind it.
    items_[items++] = {fresh.return_slot, fresh.return_address};
    if (fresh.frame_pointer_word != 0 && outer_needs_frame_pointer)
        items_[items++] = {fresh.frame_pointer_word, word_at(fresh.frame_pointer_word)};
    if (fresh.cfa_word != 0) items_[items++] = {fresh.cfa_word, word_at(fresh.cfa_word)};
    frame.return_slot = fresh.return_slot;
    frame.return_address = fresh.return_address;
    frame.frame_pointer = fresh.frame_pointer;
    frame.place = tree_->child(parent, fresh.key, is_new_node);
    frame.items_end = items;
    frame.needs_frame_pointer =
        fresh.uses_frame_pointer || (fresh.frame_pointer_word == 0 && outer_needs_frame_pointer);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    ++depth_;
}

// Moves `at` to the caller. Leaves in the last two where the CFA and the frame pointer were read from, or 0. False if the
// rule leads to memory that cannot be read, or downwards.
inline bool StackCache::step(const Rule& rule, Position& at, uintptr_t& cfa_word, uintptr_t& frame_pointer_word) const {
    cfa_word = frame_pointer_word = 0;
    const bool from_frame = rule.cfa == Rule::kFrame || rule.cfa == Rule::kAtFrame;
    uintptr_t cfa =
        (from_frame ? at.frame_pointer : at.stack_pointer) + static_cast<uintptr_t>(intptr_t{rule.cfa_offset});
    if (rule.cfa == Rule::kAtFrame || rule.cfa == Rule::kAtStack) {
        if (!may_read(cfa, at.return_slot)) return false;
        cfa_word = cfa;
        cfa = word_at(cfa);
    }
    // Stacks grow downwards: a caller's frame lies above its callee's, except across a signal frame, where the handler
    // may have run on a stack of its own.
    if (!rule.signal_frame && cfa < at.stack_pointer) return false;
    auto place = [&](Rule::Saved saved, int32_t offset) {
        const uintptr_t base = saved == Rule::kSavedAtCfa     ? cfa
                               : saved == Rule::kSavedAtStack ? at.stack_pointer
                                                              : at.frame_pointer;
        return base + static_cast<uintptr_t>(intptr_t{offset});
    };
    const uintptr_t slot = place(rule.return_address, rule.return_offset);
    if (!may_read(slot, at.return_slot)) return false;
    if (rule.frame_pointer != Rule::kUnchanged) {
        const uintptr_t word = place(rule.frame_pointer, rule.frame_pointer_offset);
        if (!may_read(word, slot)) return false;
        frame_pointer_word = word;
        at.frame_pointer = word_at(word);
    }
    at.stack_pointer = cfa;
    at.return_slot = slot;
    at.return_address = word_at(slot);
    at.interrupted = rule.signal_frame;
    return true;
}

StackCache::Found StackCache::find_caller_in(const arch::CallerFrame& caller, const Range& code) {
    Position at(caller);
    bool in_handler = false, fixed_size = false;
    for (uint32_t i = 0; i < depth_limit_; ++i) {
        if (code.holds(at.code(), 1)) {
            if (in_handler) return Found::kInterrupted;
            if (i == 1 && fixed_size)
                direct_[direct_index(caller.return_address)] = {caller.return_address, at.return_slot - caller.return_slot};
            return Found::kCaller;
        }
        const Rule rule = rule_for(at.code()).rule;
        if (rule.cfa == Rule::kNoRule || rule.cfa == Rule::kEveryRegister) break;
        uintptr_t cfa_word, frame_pointer_word;
        if (rule.return_address == Rule::kNoCaller) return Found::kNo;
        if (!step(rule, at, cfa_word, frame_pointer_word)) break;
        fixed_size = rule.cfa == Rule::kStack && rule.return_address == Rule::kSavedAtCfa;
        if (at.return_address == 0) return Found::kNo;
        in_handler |= at.interrupted;
    }
    return Found::kUnknown;
}

uint32_t StackCache::walk(arch::CallerFrame caller) {
    ++walks;
    Walk walk = find_new_frames(caller);
    walked_frames += walk.fresh;
    if (walk.every_register) {
        depth_ = 0;
        return walk_every_register(caller);
    }
    note_own_stack(caller.return_slot, walk);
    if (walk.kept + walk.fresh > depth_limit_) return walk_afresh(caller); // the image reaches deeper than the limit
    if (walk.root == wire::kRootTooDeep && walk.fresh > kTooDeepFrames) walk.fresh = kTooDeepFrames;
    enter_new_frames(walk);
    const Frame& innermost = frames_[depth_ - 1];
    if (walk.one_stack) learn(caller, innermost);
    return innermost.place.node;
}

// Goes outwards until it meets a frame of the image that stands as it was, or the end of the stack.
inline StackCache::Walk StackCache::find_new_frames(const arch::CallerFrame& caller) {
    Walk walk;
    Position at(caller);
    uint32_t candidates = depth_; // frames of the image that may still be met
    for (;;) {
        while (candidates > 0 && frames_[candidates - 1].return_slot < at.return_slot) --candidates;
        if (candidates > 0) {
            const Frame& known = frames_[candidates - 1];
            if (known.return_slot == at.return_slot && known.return_address == at.return_address && !at.interrupted &&
                (!known.needs_frame_pointer || known.frame_pointer == at.frame_pointer)) {
                uint32_t changed;
                if (unchanged_from(candidates - 1, changed)) {
                    walk.kept = candidates;
                    return walk;
                }
                candidates = changed;
            }
        }
        if (walk.fresh == depth_limit_) {
            walk.root = wire::kRootTooDeep;
            return walk;
        }
        const uintptr_t where = at.code();
        const CachedRule& entry = rule_for(where);
        const Rule rule = entry.rule;
        NewFrame& fresh = fresh_[walk.fresh++];
        fresh = {at.return_slot,
                 at.return_address,
                 at.frame_pointer,
                 uint64_t{entry.module} << wire::kModuleShift | (where & wire::kAddressMask),
                 0,
                 0,
                 rule.cfa == Rule::kFrame || rule.cfa == Rule::kAtFrame || rule.frame_pointer == Rule::kSavedAtFrame ||
                     rule.return_address == Rule::kSavedAtFrame};
        if (rule.cfa == Rule::kNoRule) {
            walk.root = root_without_rule(at.stack_pointer);
            return walk;
        }
        walk.every_register = rule.cfa == Rule::kEveryRegister;
        if (walk.every_register || rule.return_address == Rule::kNoCaller) return walk;
        const uintptr_t stack_pointer = at.stack_pointer;
        if (!step(rule, at, fresh.cfa_word, fresh.frame_pointer_word)) {
            walk.root = wire::kRootBadFrame;
            return walk;
        }
        if (at.interrupted || at.stack_pointer - stack_pointer > kLargestFrame) walk.one_stack = false;
        if (at.return_address == 0) return walk; // some entry points push a zero instead of saying "undefined"
    }
}

// What a walk from `low` saw of the thread's own stack may be read freely from now on.
inline void StackCache::note_own_stack(uintptr_t low, const Walk& walk) {
    if (!walk.one_stack) return;
    if (walk.kept == 0) {
        const uintptr_t last = fresh_[walk.fresh - 1].return_slot;
        if (walk.root == wire::kRootComplete && last < stack_end_ && stack_end_ - last < kEndSlack) {
            stack_low_ = low;
            stack_bytes_ = last + sizeof(uintptr_t) - low;
        }
    } else if (stack_bytes_ != 0 && low < stack_low_ && frames_[0].return_slot - stack_low_ < stack_bytes_ &&
               frames_[walk.kept - 1].return_slot >= stack_low_) {
        stack_bytes_ += stack_low_ - low;
        stack_low_ = low;
    }
}

// Makes the image that of the walk's stack.
inline void StackCache::enter_new_frames(const Walk& walk) {
    depth_ = walk.kept;
    const StackTree::Place below = depth_ > 0 ? frames_[depth_ - 1].place : StackTree::root(walk.root);
    uint64_t hash = below.hash;
    for (uint32_t i = walk.fresh; i-- > 0;) tree_->expect(hash = StackTree::hash_below(hash, fresh_[i].key));
    bool is_new_node = false;
    for (uint32_t i = walk.fresh; i-- > 0;) {
        const bool outermost = depth_ == 0;
        push(outermost ? below : frames_[depth_ - 1].place, fresh_[i],
             !outermost && frames_[depth_ - 1].needs_frame_pointer, is_new_node);
    }
}

uint32_t StackCache::walk_afresh(const arch::CallerFrame& caller) {
    depth_ = 0;
    return walk(caller);
}

// Hands the image to the prediction table when the same stack is met a second time: most stacks that never return would
// only push out those that do.
void StackCache::learn(const arch::CallerFrame& caller, const Frame& innermost) {
    uint32_t& seen = seen_once_[(innermost.place.node * 0x9e3779b1u) >> 22];
    static_assert(kSeenOnce == 1u << 10);
    if (seen != innermost.place.node) {
        seen = innermost.place.node;
        return;
    }
    for (uint32_t i = 0; i < innermost.items_end; ++i)
        if (!on_own_stack(items_[i].address)) return;
    prediction_.learn(caller, innermost.needs_frame_pointer, items_, innermost.items_end, innermost.place.node);
}

uint32_t StackCache::walk_every_register(const arch::CallerFrame& caller) {
    ++full_walks;
    arch::Registers registers{};
    arch::capture_registers(registers);
    struct Context {
        const StackCache* cache;
        uintptr_t known_good;
    } context{this, caller.return_slot};
    const ReadWord read = [](void* at, uintptr_t address, uintptr_t& value) {
        auto& c = *static_cast<Context*>(at);
        if (!c.cache->may_read(address, c.known_good)) return false;
        value = word_at(address);
        return true;
    };
    uintptr_t& address = registers.value[arch::kReturnAddress];
    bool interrupted = true; // the capture itself is not a return address
    bool in_recorder = true;
    uint32_t root = wire::kRootComplete;
    uint32_t count = 0;
    for (;;) {
        if (registers.value[arch::kStackPointer] > caller.return_slot) in_recorder = false;
        const uintptr_t where = interrupted ? address : address - 1;
        Module module;
        const uint16_t number = module_at(where, module, announce_, owner_);
        if (!in_recorder) {
            if (count == depth_limit_) {
                root = wire::kRootTooDeep;
                break;
            }
            fresh_[count++].key = uint64_t{number} << wire::kModuleShift | (where & wire::kAddressMask);
        }
        if (number == kNoModule || module.cfi.eh_frame_hdr == 0 || !find_row_of_call(module.cfi, where)) {
            root = root_without_rule(registers.value[arch::kStackPointer]);
            break;
        }
        const Row& row = scratch_->row;
        if (row.registers[arch::kReturnAddress].kind == RegisterRule::kUndefined) break;
        context.known_good = registers.value[arch::kStackPointer];
        const uintptr_t before = context.known_good;
        if (!apply(row, registers, read, &context) ||
            (!row.signal_frame && registers.value[arch::kStackPointer] < before)) {
            root = wire::kRootBadFrame;
            break;
        }
        interrupted = row.signal_frame;
        if (address == 0) break;
    }
    if (count == 0) return wire::kRootBadFrame;
    if (root == wire::kRootTooDeep && count > kTooDeepFrames) count = kTooDeepFrames;
    StackTree::Place place = StackTree::root(root);
    bool is_new_node = false;
    while (count-- > 0) place = tree_->child(place, fresh_[count].key, is_new_node);
    return place.node;
}

} // namespace memtoll::unwind
