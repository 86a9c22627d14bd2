// The free ones of a fixed number of slots. What take() takes is the lowest that it finds, so that those in use stay close
// together and the others stay idle.
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

namespace memtoll::detail {

// A flag for a single thread, with the functions of std::atomic that are used here.
class plain_flag {
public:
    bool load() const noexcept { return value_; }
    void store(bool value) noexcept { value_ = value; }
    bool exchange(bool value) noexcept {
        const bool before = value_;
        value_ = value;
        return before;
    }

private:
    bool value_;
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
        for (std::size_t i = 0; i < count_; ++i)
            if (free_[i].load() && take(i)) return i;
        return none;
    }

    // This slot, if it is free.
    bool take(std::size_t slot) noexcept { return free_[slot].exchange(false); }

    // Makes a slot free that the caller has taken. Shared, this is the last that it does with the set.
    void give(std::size_t slot) noexcept { free_[slot].store(true); }

    // How many are free: exact if nobody takes or gives meanwhile.
    std::size_t free() const noexcept {
        std::size_t sum = 0;
        for (std::size_t i = 0; i < count_; ++i) sum += free_[i].load();
        return sum;
    }

private:
    using flag = std::conditional_t<Shared, std::atomic<bool>, plain_flag>;

    const std::size_t count_;
    const std::unique_ptr<flag[]> free_;
};

} // namespace memtoll::detail
