// The free ones of a fixed number of slots, as bits: 1 is free. What take() takes is the lowest that it finds, so that
// those in use stay close together and the others stay idle.
//
// Shared between threads, all is wait-free: take() makes at most one atomic operation for each slot and one for each 64,
// give() makes one. A slot that is taken was given before, with everything that its last owner wrote.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace memtoll::detail {

// A word for a single thread, with the functions of std::atomic that are used here.
class plain_word {
public:
    std::uint64_t load() const noexcept { return value_; }
    void store(std::uint64_t value) noexcept { value_ = value; }
    std::uint64_t fetch_and(std::uint64_t mask) noexcept {
        const std::uint64_t before = value_;
        value_ &= mask;
        return before;
    }
    std::uint64_t fetch_or(std::uint64_t mask) noexcept {
        const std::uint64_t before = value_;
        value_ |= mask;
        return before;
    }

private:
    std::uint64_t value_;
};

template <bool Shared> class slot_set {
public:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    // All slots are free. Throws std::bad_alloc.
    explicit slot_set(std::size_t count) : count_(count), words_(new word[word_count()]) {
        for (std::size_t i = 0; i < word_count(); ++i) {
            const std::size_t slots = count - i * 64;
            words_[i].store(slots >= 64 ? ~std::uint64_t{0} : bit(slots) - 1);
        }
    }

    std::size_t count() const noexcept { return count_; }

    // A free slot, which is taken then; or none, if each was taken when this looked at it.
    std::size_t take() noexcept {
        for (std::size_t i = 0; i < word_count(); ++i)
            for (std::uint64_t free = words_[i].load(); free != 0; free &= free - 1) {
                const auto slot = i * 64 + static_cast<std::size_t>(__builtin_ctzll(free));
                if (take(slot)) return slot;
            }
        return none;
    }

    // This slot, if it is free.
    bool take(std::size_t slot) noexcept {
        const std::uint64_t mask = bit(slot % 64);
        return (words_[slot / 64].fetch_and(~mask) & mask) != 0;
    }

    // Makes a slot free that the caller has taken.
    void give(std::size_t slot) noexcept { words_[slot / 64].fetch_or(bit(slot % 64)); }

    // How many are free: exact if nobody takes or gives meanwhile.
    std::size_t free() const noexcept {
        std::size_t sum = 0;
        for (std::size_t i = 0; i < word_count(); ++i) sum += static_cast<std::size_t>(__builtin_popcountll(words_[i].load()));
        return sum;
    }

private:
    using word = std::conditional_t<Shared, std::atomic<std::uint64_t>, plain_word>;

    static constexpr std::uint64_t bit(std::size_t i) noexcept { return std::uint64_t{1} << i; }
    std::size_t word_count() const noexcept { return (count_ + 63) / 64; }

    const std::size_t count_;
    const std::unique_ptr<word[]> words_;
};

} // namespace memtoll::detail
