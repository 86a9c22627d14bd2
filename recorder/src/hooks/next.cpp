#include "next.hpp"

#include "dynamic.hpp"

#include <atomic>

namespace memtoll {

Next next;
Next overridden;
std::atomic<bool> next_is_known{false};

namespace {

template <class Function> void look_up(Function*& pointer, const char* symbol) {
    if (void* found = find_symbol(symbol, Where::kAfterRecorder)) pointer = reinterpret_cast<Function*>(found);
}

} // namespace

void find_next() {
    // Threads that come here at the same time, or a signal handler in between, all find the same.
    Next found{};
#define EVENT(number, name, symbol) look_up(found.name, symbol);
#define SILENT(name, symbol) look_up(found.name, symbol);
#include "hooks.def"
#undef EVENT
#undef SILENT
    next = overridden = found;
    next_is_known.store(true, std::memory_order_release);
}

} // namespace memtoll
