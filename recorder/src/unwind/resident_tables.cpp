#include "resident_tables.hpp"

#include <atomic>

namespace memtoll::unwind::tables_read {
namespace {

// What the kernel maps at once around a page of a file, if it is in the page cache (fault_around_bytes, 64 KiB everywhere
// but on test kernels).
constexpr unsigned kWindowLog2 = 16;
constexpr size_t kPlaces = 1024; // a power of 2
constexpr size_t kMost = kPlaces / 4 * 3;

// Windows by their numbers, none of which is 0.
std::atomic<uint32_t> windows[kPlaces];
std::atomic<size_t> known{0};

} // namespace

void note(uintptr_t address) {
    const auto window = static_cast<uint32_t>(address >> kWindowLog2);
    for (size_t at = window * size_t{2654435761u};; ++at) {
        std::atomic<uint32_t>& place = windows[at % kPlaces];
        uint32_t found = place.load(std::memory_order_relaxed);
        if (found == window || known.load(std::memory_order_relaxed) >= kMost) return;
        if (found != 0) continue;
        if (place.compare_exchange_strong(found, window, std::memory_order_relaxed)) {
            known.fetch_add(1, std::memory_order_relaxed);
            return;
        }
        if (found == window) return;
    }
}

size_t bytes() { return known.load(std::memory_order_relaxed) << kWindowLog2; }

void forget() {
    for (std::atomic<uint32_t>& place : windows) place.store(0, std::memory_order_relaxed);
    known.store(0, std::memory_order_relaxed);
}

} // namespace memtoll::unwind::tables_read
