// A growable array whose elements never move: it reserves addresses for the most it may hold, and commits memory as it
// grows.
//
//     memtoll::reserved_vector<row> rows(1'000'000);    // at most; no memory yet
//     row& first = rows.emplace_back();
//     rows.push_back(first);                            // `first` stays where it is, whatever follows
//
// Pointers, references and iterators stay valid until their element is removed. Elements need neither copy nor move:
// mutexes and atomics are fine. Against std::vector it saves the copies of growing and the second block that is alive
// meanwhile; against std::deque the blocks and the indirection. It costs system calls, so many small arrays are better
// off in a std::vector. README.md says how much that gains for large ones (`make bench-remedies`).
//
// Thread safety: as std::vector. Exceptions: strong guarantee unless stated otherwise.
#pragma once

#include <memtoll/region.hpp>

#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

namespace memtoll {

// `Memory` is the system; tests put one there that fails.
template <class T, class Memory = detail::system_memory> class reserved_vector {
    static_assert(alignof(T) <= 4096, "elements are aligned to pages at most");

public:
    using value_type = T;
    using size_type = std::size_t;
    using difference_type = std::ptrdiff_t;
    using reference = T&;
    using const_reference = const T&;
    using pointer = T*;
    using const_pointer = const T*;
    using iterator = T*;
    using const_iterator = const T*;

    // An array that holds nothing, ever. O(1).
    reserved_vector() noexcept = default;

    // Reserves addresses for `most` elements. One system call, no memory. Throws std::length_error if their bytes cannot
    // be counted, std::bad_alloc if there are not as many addresses left.
    explicit reserved_vector(size_type most, pages kind = pages::normal)
        : region_(bytes_of(most), kind), begin_(reinterpret_cast<T*>(region_.data())), end_(begin_), limit_(begin_),
          most_(most) {}

    // The elements stay where they are; `other` holds nothing, ever. O(1).
    reserved_vector(reserved_vector&& other) noexcept
        : region_(std::move(other.region_)), begin_(std::exchange(other.begin_, nullptr)),
          end_(std::exchange(other.end_, nullptr)), limit_(std::exchange(other.limit_, nullptr)),
          most_(std::exchange(other.most_, 0)), committed_(std::exchange(other.committed_, 0)) {}

    // Removes the elements that it had, and gives their memory back; then as the constructor. O(elements removed).
    reserved_vector& operator=(reserved_vector&& other) noexcept {
        reserved_vector(std::move(other)).swap(*this);
        return *this;
    }

    // Destroys the elements and gives back memory and addresses. O(size).
    ~reserved_vector() { std::destroy(begin_, end_); }

    // The elements stay where they are. O(1).
    void swap(reserved_vector& other) noexcept {
        region_.swap(other.region_);
        std::swap(begin_, other.begin_);
        std::swap(end_, other.end_);
        std::swap(limit_, other.limit_);
        std::swap(most_, other.most_);
        std::swap(committed_, other.committed_);
    }

    // How many elements there are. O(1), as all of these.
    size_type size() const noexcept { return static_cast<size_type>(end_ - begin_); }
    bool empty() const noexcept { return begin_ == end_; }
    // Elements that fit without a system call; elements that fit at all.
    size_type capacity() const noexcept { return static_cast<size_type>(limit_ - begin_); }
    size_type max_size() const noexcept { return most_; }

    // The elements, one behind the other; null if nothing was reserved. Nothing checks an index, or that there is a first
    // and a last one.
    T* data() noexcept { return begin_; }
    const T* data() const noexcept { return begin_; }
    iterator begin() noexcept { return begin_; }
    iterator end() noexcept { return end_; }
    const_iterator begin() const noexcept { return begin_; }
    const_iterator end() const noexcept { return end_; }
    T& operator[](size_type index) noexcept { return begin_[index]; }
    const T& operator[](size_type index) const noexcept { return begin_[index]; }
    T& front() noexcept { return *begin_; }
    const T& front() const noexcept { return *begin_; }
    T& back() noexcept { return end_[-1]; }
    const T& back() const noexcept { return end_[-1]; }

    // Adds an element. O(1), and a system call each time that the committed memory is used up, at most one for each MiB.
    // Throws std::length_error at max_size(), std::bad_alloc, and what the constructor throws.
    //
    //     rows.emplace_back(width, attributes);
    template <class... Arguments> T& emplace_back(Arguments&&... arguments) {
        if (end_ == limit_)
            grow(1);
        T* const made = ::new (static_cast<void*>(end_)) T(std::forward<Arguments>(arguments)...);
        ++end_;
        return *made;
    }
    // A copy of `value`, or `value` moved there; it may be an element. Otherwise as emplace_back().
    void push_back(const T& value) { emplace_back(value); }
    void push_back(T&& value) { emplace_back(std::move(value)); }

    // Removes the last element, which must exist. Its memory stays committed. O(1).
    void pop_back() noexcept { std::destroy_at(--end_); }

    // Adds value-initialised elements, or removes from the end. O(difference). Throws as emplace_back().
    void resize(size_type count) {
        if (count < size())
            return truncate(count);
        const size_type added = count - size();
        make_room(added);
        std::uninitialized_value_construct_n(end_, added);
        end_ += added;
    }

    // Commits memory for `count` elements, so that adding that many neither throws nor calls the system. Throws
    // std::length_error beyond max_size(), and std::bad_alloc.
    void reserve(size_type count) {
        if (count > capacity())
            grow(count - size());
    }

    // Removes all elements; `how` says what becomes of their memory. O(size), a system call unless it is kept.
    //
    //     rows.clear(memtoll::purge::lazy);
    void clear(purge how = purge::keep) noexcept {
        truncate(0);
        shrink_to_fit(how);
    }

    // Gives back the memory behind the last element. One system call.
    void shrink_to_fit(purge how = purge::now) noexcept {
        const std::size_t used = size() * sizeof(T);
        region_.give_back(used, committed_ - used, how);
        if (how == purge::now)
            set_committed(detail::round_up(used, region_.granule()));
    }

private:
    // A system call costs about as much as one page fault. From 1 MiB on, one for 256 of them is nothing to save on.
    static constexpr std::size_t kFirstStep = std::size_t{64} << 10;
    static constexpr std::size_t kLargestStep = std::size_t{1} << 20;

    static std::size_t bytes_of(size_type count) {
        if (count > static_cast<size_type>(std::numeric_limits<difference_type>::max()) / sizeof(T))
            throw std::length_error("memtoll::reserved_vector: more elements than there are addresses");
        return count * sizeof(T);
    }

    void make_room(size_type added) {
        if (added > capacity() - size())
            grow(added);
    }

    [[gnu::noinline]] void grow(size_type added) {
        if (added > most_ - size())
            throw std::length_error("memtoll::reserved_vector: more elements than were reserved");
        const std::size_t needed = (size() + added) * sizeof(T);
        const std::size_t step = committed_ < kFirstStep ? kFirstStep : committed_ < kLargestStep ? committed_ : kLargestStep;
        std::size_t target = committed_ + step > needed ? committed_ + step : needed;
        target = detail::round_up(target, region_.granule());
        target = target < region_.size() ? target : region_.size();
        region_.commit(committed_, target - committed_);
        set_committed(target);
    }

    void set_committed(std::size_t bytes) noexcept {
        committed_ = bytes;
        limit_ = begin_ + (bytes / sizeof(T) < most_ ? bytes / sizeof(T) : most_);
    }

    void truncate(size_type count) noexcept {
        std::destroy(begin_ + count, end_);
        end_ = begin_ + count;
    }

    // begin_ <= end_ <= limit_ <= begin_ + most_; the first committed_ bytes are usable, and hold what is before limit_
    basic_region<Memory> region_;
    T* begin_ = nullptr;
    T* end_ = nullptr;
    T* limit_ = nullptr;
    size_type most_ = 0;
    std::size_t committed_ = 0;
};

} // namespace memtoll
