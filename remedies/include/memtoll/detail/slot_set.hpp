// The free ones of a fixed number of slots. take() takes the lowest, so that those in use stay close together and the rest
// stays idle. It begins to look where the lowest should be; where threads have met, it may find another.
//
// Shared between threads, all is wait-free where an exchange of a byte is (x86-64, arm64 from 8.1 on): take() makes at most
// one read and one exchange for each slot, give() makes one exchange. A bit for each slot would need fewer reads, but what a
// fetch_and returns makes a loop of it with some compilers (clang 14). A slot that is taken was given before, with
// everything that its last owner wrote.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace memtoll::detail {

// A value for a single thread, with the functions of std::atomic that are used here.
template <class T> class plain {
public:
    T load(std::memory_order = {}) const noexcept { return value_; }
    void store(T value, std::memory_order = {}) noexcept { value_ = value; }
    T exchange(T value) noexcept { return std::exchange(value_, value); }

private:
    T value_{};
};

template <bool Shared> class slot_set {
public:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    // All slots are free. Throws std::bad_alloc.
    explicit slot_set(std::size_t count) : count_(count), free_(new flag[count]) {
        for (std::size_t i = 0; i < count; ++i) free_[i].store(true);
    }

    std::size_t count() const noexcept { return count_; }

    // A free slot, which is taken then; or none, if each was taken when this looked at it.
    std::size_t take() noexcept {
        const std::size_t lowest = lowest_.load(std::memory_order_relaxed);
        const std::size_t found = take_between(lowest, count_);
        return found != none ? found : take_between(0, lowest);
    }

    // This slot, if it is free.
    bool take(std::size_t slot) noexcept { return free_[slot].exchange(false); }

    // Makes a slot free that the caller has taken; that is the last thing it does with the set.
    void give(std::size_t slot) noexcept {
        if (slot < lowest_.load(std::memory_order_relaxed)) lowest_.store(slot, std::memory_order_relaxed);
        free_[slot].store(true);
    }

    // How many are free: exact if no thread takes or gives meanwhile.
    std::size_t free() const noexcept {
        std::size_t sum = 0;
        for (std::size_t i = 0; i < count_; ++i) sum += free_[i].load();
        return sum;
    }

private:
    template <class T> using shared = std::conditional_t<Shared, std::atomic<T>, plain<T>>;
    using flag = shared<bool>;

    // The first free one of [begin, end).
    std::size_t take_between(std::size_t begin, std::size_t end) noexcept {
        for (std::size_t i = begin; i < end; ++i)
            if (free_[i].load() && take(i)) {
                lowest_.store(i + 1, std::memory_order_relaxed);
                return i;
            }
        return none;
    }

    const std::size_t count_;
    const std::unique_ptr<flag[]> free_;
    shared<std::size_t> lowest_{}; // none below is free, unless threads have met; count_ at most
};

} // namespace memtoll::detail
