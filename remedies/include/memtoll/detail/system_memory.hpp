// Memory straight from the system. Each back end has one struct, `system_memory`, with these functions; none throws, and
// sizes and addresses are multiples of what the functions say.
//
//     granularity()                bytes that reservations are a multiple of: a page, on Windows 64 KiB
//     page()                       bytes that commit, decommit and reset work on
//     reserve(bytes, kind)         address space without memory; null if there is none left
//     commit(at, bytes, kind)      memory may be used: false if the system has none
//     decommit(at, bytes)          memory goes back at once; to use it again, commit it again
//     reset(at, bytes)             the system may take the memory when it needs some; it stays usable, its contents may not
//     take(bytes, kind)            reserve and commit in one call
//     populate(at, bytes)          pages of committed memory come now, not one by one when they are touched: a wish
//     release(at, bytes)           ends a reservation, committed or not
//
// Tests replace the struct by one that fails when it is told to.
#pragma once

#include <cstddef>

namespace memtoll {

// The pages that a range is made of. `normal`: as the system is set. `huge` and `small` are wishes: 2 MiB pages where the
// system has them; ordinary ones even where it is set to give huge ones unasked.
enum class pages { normal, huge, small };

namespace detail {

constexpr std::size_t huge_page = std::size_t{2} << 20;

// The next multiple of a power of two; 0 if that overflows.
constexpr std::size_t round_up(std::size_t bytes, std::size_t multiple) noexcept {
    return (bytes + (multiple - 1)) & ~(multiple - 1);
}

} // namespace detail
} // namespace memtoll

#if defined(__linux__)
#include <memtoll/detail/system_memory_linux.hpp>
#elif defined(_WIN32)
#include <memtoll/detail/system_memory_windows.hpp>
#else
#error "memtoll-remedies takes memory from Linux or Windows only"
#endif
