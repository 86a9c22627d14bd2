#include "code_ranges.hpp"

#include <atomic>

namespace memtoll::unwind {

bool CodeRanges::ask(uintptr_t address) {
    process_maps::Mapping mapping;
    switch (process_maps::find(address, mapping)) {
    case process_maps::Answer::kUnknown: return false;
    case process_maps::Answer::kNothing: return true;
    case process_maps::Answer::kFound: break;
    }
    if (!mapping.executable) return true;
    process_maps::Mapping& range = code_[next_];
    next_ = (next_ + 1) % kRanges;
    range.end = 0; // should a signal handler's longjmp leave us here half-way
    std::atomic_signal_fence(std::memory_order_seq_cst);
    range.begin = mapping.begin;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    range.end = mapping.end;
    return false;
}

} // namespace memtoll::unwind
