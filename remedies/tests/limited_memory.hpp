// The system as the remedies see it, but it refuses when it is told to, and knows what it has given: at the end everything
// must be back, with the address and the size that it was given with.
#pragma once

#include <memtoll/detail/system_memory.hpp>

#include <cstddef>
#include <map>

namespace memtoll::test {

struct limited_memory : detail::system_memory {
    static constexpr std::size_t unlimited = static_cast<std::size_t>(-1);

    static inline std::size_t calls_left = unlimited; // then reserve, commit and take fail
    static inline std::map<const void*, std::size_t> ranges;
    static inline std::size_t wrong_releases = 0;
    static inline std::size_t resets = 0;
    static inline std::size_t decommits = 0;

    static void forget() {
        calls_left = unlimited;
        wrong_releases = resets = decommits = 0;
        ranges.clear();
    }

    static bool has_everything_back() { return ranges.empty() && wrong_releases == 0; }

    static std::size_t bytes() {
        std::size_t sum = 0;
        for (const auto& range : ranges)
            sum += range.second;
        return sum;
    }

    static void* reserve(std::size_t bytes, pages kind) noexcept {
        return refuses() ? nullptr : remember(system_memory::reserve(bytes, kind), bytes);
    }
    static bool commit(void* at, std::size_t bytes, pages kind) noexcept {
        return !refuses() && system_memory::commit(at, bytes, kind);
    }
    static void* take(std::size_t bytes, pages kind) noexcept {
        return refuses() ? nullptr : remember(system_memory::take(bytes, kind), bytes);
    }
    static void decommit(void* at, std::size_t bytes) noexcept {
        ++decommits;
        system_memory::decommit(at, bytes);
    }
    static void reset(void* at, std::size_t bytes) noexcept {
        ++resets;
        system_memory::reset(at, bytes);
    }
    static void release(void* at, std::size_t bytes) noexcept {
        const auto found = ranges.find(at);
        if (found == ranges.end() || found->second != bytes) {
            ++wrong_releases;
            return;
        }
        ranges.erase(found);
        system_memory::release(at, bytes);
    }

private:
    static bool refuses() noexcept {
        if (calls_left == unlimited)
            return false;
        if (calls_left == 0)
            return true;
        --calls_left;
        return false;
    }

    static void* remember(void* at, std::size_t bytes) noexcept {
        if (at != nullptr)
            ranges.emplace(at, bytes);
        return at;
    }
};

} // namespace memtoll::test
