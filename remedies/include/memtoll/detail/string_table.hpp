// A set of strings that lie elsewhere: finds the one that is equal. Open addressing, linear probing, at most three
// quarters full; its memory comes straight from the system, where fresh memory is zero: every slot is empty.
#pragma once

#include <memtoll/detail/system_memory.hpp>

#include <cstddef>
#include <cstring>
#include <functional>
#include <new>
#include <string_view>
#include <utility>

namespace memtoll::detail {

template <class Char, class Memory> class string_table {
public:
    using view_type = std::basic_string_view<Char>;

    string_table() noexcept = default;
    string_table(string_table&& other) noexcept
        : slots_(std::exchange(other.slots_, nullptr)), capacity_(std::exchange(other.capacity_, 0)),
          size_(std::exchange(other.size_, 0)) {}
    string_table& operator=(string_table&&) = delete;
    ~string_table() { release(); }

    void swap(string_table& other) noexcept {
        std::swap(slots_, other.slots_);
        std::swap(capacity_, other.capacity_);
        std::swap(size_, other.size_);
    }

    // The string that is equal to `text`. If there is none, what `make` returns: an equal one that lives as long as this
    // table, and is kept. Throws std::bad_alloc, and what `make` throws; the set is the same then.
    template <class Make> view_type find_or_insert(view_type text, Make make) {
        const std::size_t hash = hash_of(text);
        slot* found = capacity_ == 0 ? nullptr : &find(slots_, capacity_, hash, text);
        if (found != nullptr && found->text != nullptr)
            return {found->text, found->size};
        if (size_ >= capacity_ / 4 * 3) {
            grow();
            found = &find(slots_, capacity_, hash, text);
        }
        const view_type made = make();
        *found = {made.data(), made.size(), hash};
        ++size_;
        return made;
    }

    void clear() noexcept {
        if (size_ != 0)
            std::memset(static_cast<void*>(slots_), 0, capacity_ * sizeof(slot));
        size_ = 0;
    }

    void release() noexcept {
        if (slots_ != nullptr)
            Memory::release(slots_, bytes_taken());
        slots_ = nullptr;
        capacity_ = size_ = 0;
    }

    std::size_t size() const noexcept { return size_; }
    std::size_t bytes_taken() const noexcept { return bytes_for(capacity_); }

private:
    struct slot {
        const Char* text; // null: empty
        std::size_t size;
        std::size_t hash;
    };

    static constexpr std::size_t kFirstCapacity = 128;

    static std::size_t bytes_for(std::size_t capacity) noexcept {
        return round_up(capacity * sizeof(slot), Memory::granularity());
    }

    static std::size_t hash_of(view_type text) noexcept {
        return std::hash<std::string_view>{}({reinterpret_cast<const char*>(text.data()), text.size() * sizeof(Char)});
    }

    // The slot of `text`, or the empty one where it belongs.
    static slot& find(slot* slots, std::size_t capacity, std::size_t hash, view_type text) noexcept {
        std::size_t at = hash & (capacity - 1);
        while (slots[at].text != nullptr &&
               !(slots[at].hash == hash && view_type(slots[at].text, slots[at].size) == text))
            at = (at + 1) & (capacity - 1);
        return slots[at];
    }

    void grow() {
        const std::size_t capacity = capacity_ == 0 ? kFirstCapacity : capacity_ * 2;
        if (capacity > static_cast<std::size_t>(-1) / sizeof(slot) / 2)
            throw std::bad_alloc();
        const std::size_t bytes = bytes_for(capacity);
        auto* const slots = static_cast<slot*>(Memory::take(bytes, bytes < huge_page ? pages::normal : pages::huge));
        if (slots == nullptr)
            throw std::bad_alloc();
        for (std::size_t i = 0; i < capacity_; ++i)
            if (slots_[i].text != nullptr)
                find(slots, capacity, slots_[i].hash, {slots_[i].text, slots_[i].size}) = slots_[i];
        if (slots_ != nullptr)
            Memory::release(slots_, bytes_taken());
        slots_ = slots;
        capacity_ = capacity;
    }

    // capacity_ is 0 or a power of two; size_ <= capacity_ / 4 * 3, so a search ends at an empty slot
    slot* slots_ = nullptr;
    std::size_t capacity_ = 0;
    std::size_t size_ = 0;
};

} // namespace memtoll::detail
