// A short list of trivially copyable values: the first few inside the object, all of them on the heap when there are more.
//
// It is itself trivial, so that an array of lists can lie in zeroed memory that was not touched yet:
//
//     all bytes zero         no list yet: start() makes it one
//     capacity_ == Inline    the values are in inline_
//     capacity_  > Inline    the values are at the address in inline_, a block of malloc's
//     size_ <= capacity_     always
//
// So release() takes the place of a destructor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <type_traits>

namespace memtoll::detail {

template <class T, std::size_t Inline> class inline_list {
    static_assert(std::is_trivially_copyable_v<T>, "values are moved as bytes");
    static_assert(Inline > 0 && Inline < 65536, "room for at least one value");
    static_assert(alignof(T) <= alignof(std::max_align_t), "blocks of malloc are not aligned more strictly");

public:
    inline_list() = default;
    inline_list(const inline_list&) = delete;
    inline_list& operator=(const inline_list&) = delete;

    std::size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    std::size_t capacity() const noexcept { return capacity_; }
    // Whether the values are on the heap.
    bool spilled() const noexcept { return capacity_ > Inline; }

    T* data() noexcept { return spilled() ? block() : reinterpret_cast<T*>(inline_); }
    const T* data() const noexcept { return const_cast<inline_list*>(this)->data(); }
    T* begin() noexcept { return data(); }
    T* end() noexcept { return data() + size_; }
    const T* begin() const noexcept { return data(); }
    const T* end() const noexcept { return data() + size_; }
    T& operator[](std::size_t i) noexcept { return data()[i]; }
    const T& operator[](std::size_t i) const noexcept { return data()[i]; }

    // Makes room for `count` values. Throws std::bad_alloc, or std::length_error for more than 2^32 - 1; the list is then
    // as it was.
    void reserve(std::size_t count) {
        if (count > capacity_) grow(count);
    }

    // Appends a value: amortised O(1), strong guarantee.
    void push_back(T value) { replace(size_, 0, &value, 1); }

    // Becomes a copy of `count` values that are not this list's: O(count), strong guarantee.
    void assign(const T* values, std::size_t count) { replace(0, size_, values, count); }

    // Takes `removed` values out at `position` and puts `count` others there, which are not this list's:
    // O(count + what stands behind), strong guarantee. Throws std::out_of_range when there is no such position.
    void replace(std::size_t position, std::size_t removed, const T* values, std::size_t count) {
        if (position > size_ || removed > size_ - position) throw std::out_of_range("memtoll: no such position in the list");
        if (count > kMost - (size_ - removed)) throw std::length_error("memtoll: a list of more than 2^32 - 1 values");
        const std::size_t size = size_ - removed + count;
        if (size > capacity_) grow(size < kMost / 2 && size < 2 * std::size_t{capacity_} ? 2 * std::size_t{capacity_} : size);
        T* const place = data() + position;
        const std::size_t behind = size_ - position - removed;
        if (behind > 0 && count != removed) std::memmove(place + count, place + removed, behind * sizeof(T));
        if (count > 0) std::memcpy(place, values, count * sizeof(T));
        size_ = static_cast<std::uint32_t>(size);
    }

    // Removes the values and keeps the memory: O(1).
    void clear() noexcept { size_ = 0; }

    // For the owner of the memory: whether start() was called since it was all zero.
    bool started() const noexcept { return capacity_ > 0; }
    void start() noexcept { capacity_ = Inline; }
    // Frees the block, if there is one; the list is empty, and ready for use.
    void release() noexcept {
        if (spilled()) std::free(block());
        size_ = 0;
        capacity_ = Inline;
    }

private:
    static constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();

    T* block() const noexcept {
        T* address;
        std::memcpy(&address, inline_, sizeof address);
        return address;
    }

    void grow(std::size_t capacity) {
        if (capacity > kMost) throw std::length_error("memtoll: a list of more than 2^32 - 1 values");
        if (capacity > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_alloc();
        void* const grown = std::realloc(spilled() ? block() : nullptr, capacity * sizeof(T));
        if (!grown) throw std::bad_alloc();
        if (!spilled()) std::memcpy(grown, inline_, size_ * sizeof(T));
        std::memcpy(inline_, &grown, sizeof grown);
        capacity_ = static_cast<std::uint32_t>(capacity);
    }

    static constexpr std::size_t kInlineBytes = Inline * sizeof(T) < sizeof(T*) ? sizeof(T*) : Inline * sizeof(T);
    static constexpr std::size_t kAlignment = alignof(T) < alignof(std::uint32_t) ? alignof(std::uint32_t) : alignof(T);
    std::uint32_t size_;
    std::uint32_t capacity_;
    alignas(kAlignment) unsigned char inline_[kInlineBytes];
};

} // namespace memtoll::detail
