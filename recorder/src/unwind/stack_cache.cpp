#include "stack_cache.hpp"

#include "full_walk.hpp"

#include <cstring>

namespace memtoll::unwind {
namespace {

constexpr uint32_t kSeenOnce = 1024;
// A stack that is too deep is named by this many of its innermost frames: few enough that the stacks of a recursion
// soon repeat, whatever their depth.
constexpr uint32_t kTooDeepFrames = 64;
// Two frames further apart than this may lie on different stacks, with unmapped memory between them.
constexpr uintptr_t kLargestFrame = uintptr_t{16} << 20;

// How many of a walk's frames name its stack.
uint32_t named(uint32_t frames, uint32_t root) {
    return root == wire::kRootTooDeep && frames > kTooDeepFrames ? kTooDeepFrames : frames;
}

} // namespace

size_t StackCache::memory_bytes(uint32_t depth_limit) {
    return Pieces::bytes<uint32_t>(kSeenOnce) + Pieces::bytes<NewFrame>(depth_limit) +
           LastStack::memory_bytes(depth_limit) + RuleCache::memory_bytes() + Prediction::kMemoryBytes;
}

void StackCache::start(StackTree* tree, uint32_t depth_limit, AnnounceModule announce, void* owner,
                       Take take) {
    tree_ = tree;
    depth_limit_ = depth_limit;
    Pieces pieces(memory);
    seen_once_ = pieces.take<uint32_t>(kSeenOnce);
    fresh_ = pieces.take<NewFrame>(depth_limit);
    last_.start(pieces, depth_limit, tree);
    rules_.start(pieces, announce, owner, take);
    prediction_.start(pieces.take<char>(Prediction::kMemoryBytes), take);
}

void StackCache::set_stack_end(StackEnd stack_end) {
    if (!memory_.set_end(stack_end)) return; // the C library reuses stacks: what is known about this one still holds
    last_.forget();
    prediction_.clear();
}

void StackCache::forget_code() {
    last_.forget();
    prediction_.clear();
    rules_.forget();
    search_.forget();
    memset(seen_once_, 0, kSeenOnce * sizeof(uint32_t));
}

uint32_t StackCache::walk(arch::CallerFrame caller) {
    ++walks;
    const Walk walk = find_new_frames(caller);
    walked_frames += walk.fresh;
    if (walk.every_register) {
        last_.forget();
        return walk_fully(caller);
    }
    note_own_stack(caller.return_slot, walk);
    if (walk.kept + walk.fresh > depth_limit_) return walk_afresh(caller); // the image reaches deeper than the limit
    last_.replace(walk.kept, fresh_, named(walk.fresh, walk.root), walk.root);
    const LastStack::Frame& innermost = last_.innermost();
    if (walk.one_stack) learn(caller, innermost);
    return innermost.place.node;
}

// Whether what was read from code without tables is to be believed. If not, generated code may keep a frame pointer: what it calls
// may take its arguments from the stack, as Java's interpreter does, so that the stack pointer says nothing.
bool StackCache::leads_to_caller(uint16_t module, const Position& at, Rule& rule) {
    const auto leads = [&](const Rule& tried) {
        Position caller = at;
        WordsRead read;
        return step(tried, memory_, caller, read) == Stepped::kToCaller &&
               rules_.may_return_to(arch::code_address(caller.return_address), module);
    };
    if (leads(rule)) return true;
    if (module != kNoModule || rule.cfa == Rule::kFrame || at.interrupted) return false;
    Row row;
    CodeReader::follow_frame_pointer(row);
    const Rule with_frame = compress(row, at.code());
    if (!leads(with_frame)) return false;
    rule = with_frame;
    return true;
}

// Goes outwards until it meets a frame of the image that stands as it was, or the end of the stack.
inline StackCache::Walk StackCache::find_new_frames(const arch::CallerFrame& caller) {
    Walk walk;
    Position at(caller);
    uint32_t candidates = last_.depth(); // frames of the image that may still be met
    for (;;) {
        if (const uint32_t kept = last_.kept(at, candidates)) {
            walk.kept = kept;
            return walk;
        }
        if (walk.fresh == depth_limit_) {
            walk.root = wire::kRootTooDeep;
            return walk;
        }
        const uintptr_t where = at.code();
        const RuleCache::Entry& entry = rules_[where];
        Rule rule = entry.rule;
        const bool ends = rule.cfa <= Rule::kNotCode || (rule.read_from_code && !leads_to_caller(entry.module, at, rule));
        NewFrame& fresh = fresh_[walk.fresh++];
        fresh = {arch::position(at.return_slot, at.stack_pointer),
                 at.return_address,
                 at.frame_pointer,
                 frame_key(entry.module, where),
                 {},
                 rule.cfa == Rule::kFrame || rule.cfa == Rule::kAtFrame || rule.frame_pointer == Rule::kSavedAtFrame ||
                     rule.return_address == Rule::kSavedAtFrame};
        if (ends) {
            // Above a stack that was made by hand there may be anything. On the thread's own stack, an address that cannot be
            // one is a sign that the walk went astray, and where a signal struck, the program did.
            const bool ends_before =
                rule.cfa == Rule::kNotCode && walk.fresh > 1 && !at.interrupted && !memory_.is_own(at.return_slot);
            if (ends_before) --walk.fresh;
            else walk.root = memory_.root_without_rule(at.stack_pointer, entry.module != kNoModule);
            return walk;
        }
        if (rule.read_from_code) fresh.key |= wire::kWithoutTables;
        walk.every_register = rule.cfa == Rule::kEveryRegister;
        if (walk.every_register || rule.return_address == Rule::kNoCaller) return walk;
        const uintptr_t stack_pointer = at.stack_pointer;
        if (const Stepped stepped = step(rule, memory_, at, fresh.read); stepped != Stepped::kToCaller) {
            if (stepped == Stepped::kBadFrame) walk.root = wire::kRootBadFrame;
            return walk;
        }
        if (at.interrupted || rule.other_stack || at.stack_pointer - stack_pointer > kLargestFrame) walk.one_stack = false;
        if (at.return_address == 0) return walk; // some entry points push a zero instead of saying "undefined"
    }
}

// What a walk from `low` saw of the thread's own stack may be read freely from now on.
inline void StackCache::note_own_stack(uintptr_t low, const Walk& walk) {
    if (!walk.one_stack) return;
    if (walk.kept > 0) memory_.saw_part(low, arch::slot_of(last_.frame(walk.kept - 1).position), arch::slot_of(last_.frame(0).position));
    else if (walk.root == wire::kRootComplete) memory_.saw_all(low, arch::slot_of(fresh_[walk.fresh - 1].position));
}

uint32_t StackCache::walk_afresh(const arch::CallerFrame& caller) {
    last_.forget();
    return walk(caller);
}

// Hands the image to the prediction table when the same stack is met a second time: most stacks that never return would
// only push out those that do.
void StackCache::learn(const arch::CallerFrame& caller, const LastStack::Frame& innermost) {
    uint32_t& seen = seen_once_[(innermost.place.node * 0x9e3779b1u) >> 22];
    static_assert(kSeenOnce == 1u << 10);
    if (seen != innermost.place.node) {
        seen = innermost.place.node;
        return;
    }
    for (uint32_t i = 0; i < innermost.items_end; ++i)
        if (!memory_.is_own(last_.items()[i].address)) return;
    prediction_.learn(caller, memory_.own_above(caller.return_slot), innermost.needs_frame_pointer, last_.items(),
                      innermost.items_end, innermost.place.node);
}

uint32_t StackCache::walk_fully(const arch::CallerFrame& caller) {
    ++full_walks;
    const FullWalk walk = walk_every_register(caller, rules_, memory_, fresh_, depth_limit_);
    if (walk.count == 0) return wire::kRootBadFrame;
    StackTree::Place place = StackTree::root(walk.root);
    bool is_new_node = false;
    for (uint32_t i = named(walk.count, walk.root); i-- > 0;) place = tree_->child(place, fresh_[i].key, is_new_node);
    return place.node;
}

} // namespace memtoll::unwind
