#include "rule_cache.hpp"

#include "../footprint.hpp"
#include "../build_switches.hpp"
#include "cfi_scratch.hpp"

namespace memtoll::unwind {
namespace {

constexpr uint32_t kFirst = 256;
constexpr uint32_t kMost = 16384;

} // namespace

size_t RuleCache::memory_bytes() { return Pieces::bytes<CfiScratch>(1) + Pieces::bytes<CodeReader>(1) + Pieces::bytes<Entry>(kMost); }

void RuleCache::start(Pieces& memory, AnnounceModule announce, void* owner, Take take) {
    scratch_ = memory.take<CfiScratch>(1);
    reader_ = memory.take<CodeReader>(1);
    entries_ = memory.take<Entry>(kMost);
    mask_ = kFirst - 1;
    announce_ = announce;
    owner_ = owner;
    take_ = take;
}

void RuleCache::forget() {
    scratch_->forget();
    code_.forget();
    for (uint32_t i = 0; i <= mask_; ++i) entries_[i].address = 0;
}

// The row for the call at `address`, in scratch_.
bool RuleCache::find_row_of_call(const CfiSections& sections, uintptr_t address) {
    if (find_row(sections, address, *scratch_)) return true;
    // The return address is the first instruction of a function and nothing lies before it: it was not left by a call
    // but laid there by code that made this stack by hand (makecontext). The stack ends here.
    if (!find_row(sections, address + 1, *scratch_)) return false;
    scratch_->row.registers[arch::kReturnAddress].kind = RegisterRule::kUndefined;
    return true;
}

MEMTOLL_ALIGNS_STACK const Row* RuleCache::row(uintptr_t address, uint16_t& number) {
    Module module;
    number = module_at(address, module, announce_, owner_);
    const bool has_tables = number != kNoModule && module.cfi.eh_frame_hdr != 0;
    if (has_tables && find_row_of_call(module.cfi, address)) return &scratch_->row;
    const arch::Instructions known = arch::signal_return(address, [&] { return !is_data(address); });
    if (known.count != 0) return make_signal_row(known, *scratch_) ? &scratch_->row : nullptr;
    if (is_data(address)) return nullptr;
    const bool after_call = follows_call(address + 1);
    const bool in_file = number != kNoModule;
    if (reader_->read({after_call ? address + 1 : address, after_call, in_file}, scratch_->row)) return &scratch_->row;
    if (in_file) return nullptr;
    CodeReader::follow_frame_pointer(scratch_->row); // an interpreter's code never returns, but it keeps one
    return &scratch_->row;
}

MEMTOLL_ALIGNS_STACK const RuleCache::Entry& RuleCache::read(uintptr_t address) {
    ++misses;
    if (misses - misses_at_growth_ > mask_ && mask_ + 1 < kMost) {
        // Many more code addresses than places. The old ones are forgotten: most would be in the wrong place.
        if (take_(3 * (mask_ + 1) * sizeof(Entry))) {
            forget();
            footprint::bring(entries_ + mask_ + 1, 3 * (mask_ + 1) * sizeof(Entry));
            mask_ = mask_ * 4 + 3;
            static_assert(kMost == kFirst << 6);
            MEMTOLL_INVARIANT(mask_ < kMost);
        }
        misses_at_growth_ = misses;
    }
    Entry& fresh = place(address);
    fresh.address = 0; // should a signal handler's longjmp leave us here half-way
    std::atomic_signal_fence(std::memory_order_seq_cst);
    const Row* whole = row(address, fresh.module);
    fresh.rule = whole ? compress(*whole, address) : Rule{};
    if (!whole && is_data(address)) {
        fresh.rule.cfa = Rule::kNotCode;
        return fresh; // not kept: code may be made there
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
    fresh.address = address;
    return fresh;
}

} // namespace memtoll::unwind
