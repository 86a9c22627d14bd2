#include "stack_mappings.hpp"

#include "../process_maps.hpp"

namespace memtoll::unwind::stack_mappings {
namespace {

struct Limits {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    bool holds(uintptr_t address) const { return address >= begin && address < end; }
    bool is_left(uintptr_t word, uintptr_t base) const { return !holds(word) && base >= begin && base <= end; }
};

// By address, as programs whose fibers take turns have many stacks. One that is read while another thread writes it may mix
// two mappings, which does no more harm than one that is out of date.
struct SharedLimits {
    std::atomic<uintptr_t> begin{0};
    std::atomic<uintptr_t> end{0};

    Limits get() const { return {begin.load(std::memory_order_relaxed), end.load(std::memory_order_relaxed)}; }
    void set(const Limits& limits) {
        begin.store(limits.begin, std::memory_order_relaxed);
        end.store(limits.end, std::memory_order_relaxed);
    }
};
constexpr unsigned kKnownLog2 = 10;
constexpr unsigned kSmallestStackLog2 = 14;
constinit SharedLimits known[1 << kKnownLog2];

SharedLimits& known_of(uintptr_t address) {
    return known[(address >> kSmallestStackLog2) * 0x9e3779b97f4a7c15u >> (64 - kKnownLog2)];
}

} // namespace

bool is_past(uintptr_t word, uintptr_t on_stack, uintptr_t base) {
    SharedLimits& place = known_of(on_stack);
    Limits limits = place.get();
    if (!limits.holds(on_stack) || limits.is_left(word, base)) {
        process_maps::Mapping mapping;
        if (process_maps::find(on_stack, mapping) != process_maps::Answer::kFound) return false;
        limits = {mapping.begin, mapping.end};
        place.set(limits);
        any_known.store(true, std::memory_order_relaxed);
    }
    return limits.is_left(word, base);
}

void forget_all_in(uintptr_t begin, uintptr_t bytes) {
    for (SharedLimits& place : known) {
        const Limits limits = place.get();
        if (limits.end != 0 && limits.begin < begin + bytes && begin < limits.end) place.set({});
    }
}

} // namespace memtoll::unwind::stack_mappings
