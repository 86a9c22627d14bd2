#include "next.hpp"

#include "own_allocators.hpp"

#include "../dynamic_section.hpp"

#include <atomic>

namespace memtoll {

Next next;
Next tables[MEMTOLL_TABLES];
std::atomic<bool> next_is_known{false};

namespace {

enum Index {
#define HOOK(name, symbol, type) i_##name,
#include "hooks.def"
    kCount,
};

template <class Function> void point(Function*& pointer, void* found) {
    // Where its begin is a jump to the hook, or will be one again, the hook goes on behind it.
    void* const original = found ? original_of(found) : nullptr;
    pointer = reinterpret_cast<Function*>(original ? original : found);
}

} // namespace

void find_next() {
    // Threads that come here at the same time, or a signal handler in between, all find the same.
    constexpr char kNames[] =
#define HOOK(name, symbol, type) symbol "\0"
#include "hooks.def"
        ;
    Wanted all[kCount];
    find_symbols(kNames, all, kCount, Where::kAfterRecorder);
    Next found{};
#define HOOK(name, symbol, type) point(found.name, all[i_##name].found);
#include "hooks.def"
    next = overridden = found;
    next_is_known.store(true, std::memory_order_release);
}

} // namespace memtoll
