// A range of addresses that is reserved once, and holds memory only where it was committed.
//
//     memtoll::region screen(std::size_t{1} << 30);     // 1 GiB of addresses, no memory
//     screen.commit(0, 64 << 10);                       // the first 64 KiB may be used
//     std::memset(screen.data(), 0, 64 << 10);
//     screen.give_back(0, 64 << 10, memtoll::purge::lazy);
//
// Nothing in it ever moves, and what was never touched costs nothing. For elements of one type see reserved_vector.hpp.
//
// What giving memory back costs, with its next use (README.md has prices; `memtoll machine` prints those of your machine):
//
//     purge::keep     nothing: nothing is given back
//     purge::lazy     little: MADV_FREE, MEM_RESET: the system takes the memory when it needs some
//     purge::now      most: decommit: the resident set falls at once; each page faults again and is zeroed again
//     pages::huge     as purge::now, for 2 MiB at a time: a fraction of that
//
// Thread safety: calls on different regions, and commit, decommit, reset and give_back on parts of one region that share
// no granule, may run at once.
#pragma once

#include <memtoll/detail/system_memory.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <stdexcept>
#include <utility>

namespace memtoll {

// How memory that is idle goes back to the system.
enum class purge {
    keep, // not at all: using it again costs nothing
    lazy, // when the system needs some: cheap, unless it did
    now,  // at once: dear when the memory is used again
};

// `Memory` is the system; tests put one there that fails.
template <class Memory = detail::system_memory> class basic_region {
public:
    // An empty range. O(1).
    basic_region() noexcept = default;

    // Reserves `bytes` of addresses, rounded up to granules. One system call; with huge pages up to four.
    // Throws std::bad_alloc if there are not as many addresses left.
    //
    //     memtoll::region rows(height * stride, memtoll::pages::huge);
    explicit basic_region(std::size_t bytes, pages kind = pages::normal) : pages_(kind) {
        if (bytes == 0)
            return;
        const std::size_t unit = granule() > Memory::granularity() ? granule() : Memory::granularity();
        size_ = detail::round_up(bytes, unit);
        data_ = size_ < bytes ? nullptr : static_cast<std::byte*>(Memory::reserve(size_, kind));
        if (data_ == nullptr)
            throw std::bad_alloc();
    }

    // The addresses stay the same; `other` is left empty. O(1).
    basic_region(basic_region&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)), pages_(other.pages_) {}

    // Gives back what this range was; then as the constructor. A system call.
    basic_region& operator=(basic_region&& other) noexcept {
        basic_region(std::move(other)).swap(*this);
        return *this;
    }

    // As release().
    ~basic_region() { release(); }

    // The addresses stay the same. O(1).
    void swap(basic_region& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(pages_, other.pages_);
    }

    // The first address, null if the range is empty; and the bytes that are reserved.
    std::byte* data() const noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }

    // Bytes that memory is committed and given back in: a page, 2 MiB with huge pages.
    std::size_t granule() const noexcept { return pages_ == pages::huge ? detail::huge_page : Memory::page(); }

    // Makes [offset, offset + bytes) usable, and the rest of its first and last granule. New memory is zero; memory that
    // was committed keeps its contents. One system call; a page is only taken when it is first touched.
    // Throws std::out_of_range if that is not within the range, std::bad_alloc if the system has no memory. Strong
    // guarantee.
    //
    //     rows.commit(row * stride, stride);
    void commit(std::size_t offset, std::size_t bytes) {
        if (offset > size_ || bytes > size_ - offset)
            throw std::out_of_range("memtoll::region: commit beyond what is reserved");
        const std::size_t first = offset & ~(granule() - 1);
        const std::size_t last = detail::round_up(offset + bytes, granule());
        if (bytes != 0 && !Memory::commit(data_ + first, last - first, pages_))
            throw std::bad_alloc();
    }

    // Gives memory back at once; the addresses must not be used until they are committed again. Only whole granules
    // within [offset, offset + bytes): the neighbours stay, and so does what lies outside of the range. One system call,
    // and some time for each page that was touched.
    void decommit(std::size_t offset, std::size_t bytes) noexcept {
        const granules whole = within(offset, bytes);
        if (whole.bytes != 0)
            Memory::decommit(data_ + whole.first, whole.bytes);
    }

    // The contents are needed no more; the memory stays usable, and the system may take it until it is written again.
    // What is read before that is either what was there or zero. Whole granules only, as in decommit. One system call.
    void reset(std::size_t offset, std::size_t bytes) noexcept {
        const granules whole = within(offset, bytes);
        if (whole.bytes != 0)
            Memory::reset(data_ + whole.first, whole.bytes);
    }

    // Nothing, reset or decommit. Commit before using it again, and the policy can be changed at will.
    //
    //     rows.give_back(0, rows.size(), memtoll::purge::lazy);
    void give_back(std::size_t offset, std::size_t bytes, purge how) noexcept {
        if (how == purge::lazy)
            reset(offset, bytes);
        else if (how == purge::now)
            decommit(offset, bytes);
    }

    // Gives back the memory and the addresses. The range is empty then. One system call, and what decommit costs.
    void release() noexcept {
        if (data_ != nullptr)
            Memory::release(data_, size_);
        data_ = nullptr;
        size_ = 0;
    }

private:
    struct granules {
        std::size_t first;
        std::size_t bytes;
    };

    granules within(std::size_t offset, std::size_t bytes) const noexcept {
        if (offset >= size_)
            return {0, 0};
        const std::size_t end = bytes < size_ - offset ? offset + bytes : size_;
        const std::size_t first = detail::round_up(offset, granule());
        const std::size_t last = end & ~(granule() - 1);
        return first < last ? granules{first, last - first} : granules{0, 0};
    }

    // data_ == nullptr exactly if size_ == 0
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
    pages pages_ = pages::normal;
};

using region = basic_region<>;

} // namespace memtoll
