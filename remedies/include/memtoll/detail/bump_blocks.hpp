// Memory that is handed out by bumping a pointer through blocks from the system, and given back all at once.
//
//     block:  | header | used ... | cursor -> ... room ... | end
//
// Two lists: blocks in use, and idle ones that clear() has kept. One block in use is current: cursor and end are its. A
// request that finds no room there takes a block, and whichever of the two has more room left is current from then on:
// so a large request does not waste the rest of the current block.
//
// The first block has 64 KiB, the second 256 KiB, then they are 2 MiB each: a huge page, one page fault instead of 512, a
// fifth of the price. Finally they are a 128th of the whole, so that the unused rest of the last one is less than 1 %.
#pragma once

#include <memtoll/detail/system_memory.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace memtoll::detail {

template <class Memory> class bump_blocks {
public:
    explicit bump_blocks(pages kind) noexcept : pages_(kind) {}

    // The blocks change hands; nothing in them moves.
    bump_blocks(bump_blocks&& other) noexcept
        : cursor_(std::exchange(other.cursor_, nullptr)), end_(std::exchange(other.end_, nullptr)),
          used_(std::exchange(other.used_, nullptr)), idle_(std::exchange(other.idle_, nullptr)),
          taken_(std::exchange(other.taken_, 0)), count_(std::exchange(other.count_, 0)), pages_(other.pages_) {}

    bump_blocks& operator=(bump_blocks&&) = delete;

    ~bump_blocks() { release(); }

    void swap(bump_blocks& other) noexcept {
        std::swap(cursor_, other.cursor_);
        std::swap(end_, other.end_);
        std::swap(used_, other.used_);
        std::swap(idle_, other.idle_);
        std::swap(taken_, other.taken_);
        std::swap(count_, other.count_);
        std::swap(pages_, other.pages_);
    }

    // `bytes` is at least 1, `alignment` a power of two. Throws std::bad_alloc; then nothing has changed.
    void* allocate(std::size_t bytes, std::size_t alignment) {
        const std::size_t padding = padding_to(cursor_, alignment);
        const std::size_t room = static_cast<std::size_t>(end_ - cursor_);
        if (padding > room || bytes > room - padding)
            return allocate_from_another(bytes, alignment);
        std::byte* const found = cursor_ + padding;
        cursor_ = found + bytes;
        return found;
    }

    // Makes room again where the latest allocation ended: its last `bytes`. Elsewhere, does nothing.
    bool shorten(void* end, std::size_t bytes) noexcept {
        if (end != cursor_)
            return false;
        cursor_ -= bytes;
        return true;
    }

    // A block of `bytes` for allocations to come.
    void reserve(std::size_t bytes) {
        const std::size_t wanted = bytes + sizeof(block);
        if (wanted < bytes)
            throw std::bad_alloc();
        block* const fresh = take(wanted);
        fresh->next = std::exchange(idle_, fresh);
    }

    // All blocks become idle.
    void clear() noexcept {
        cursor_ = end_ = nullptr;
        while (used_ != nullptr) {
            block* const moved = std::exchange(used_, used_->next);
            moved->next = std::exchange(idle_, moved);
        }
    }

    // Gives back idle blocks and the untouched rest of the current one.
    void shrink_to_fit() noexcept {
        release(idle_);
        if (used_ == nullptr)
            return;
        block* current = used_;
        while (current->end != end_)
            current = current->next;
        std::byte* const rest = cursor_ + padding_to(cursor_, Memory::page());
        if (rest >= end_)
            return;
        const auto bytes = static_cast<std::size_t>(end_ - rest);
        Memory::decommit(rest, bytes);
        current->end = end_ = rest;
        taken_ -= bytes;
    }

    void release() noexcept {
        cursor_ = end_ = nullptr;
        release(used_);
        release(idle_);
    }

    std::size_t bytes_taken() const noexcept { return taken_; }
    std::size_t count() const noexcept { return count_; }

private:
    struct block {
        block* next;
        std::size_t reserved; // bytes from the system, this header included
        std::byte* end;       // of what may be used: shrink_to_fit() moves it
    };

    static constexpr std::size_t kFirstBlock = std::size_t{64} << 10;
    static constexpr std::size_t kShare = 128;

    static std::size_t padding_to(const std::byte* at, std::size_t alignment) noexcept {
        return -reinterpret_cast<std::uintptr_t>(at) & (alignment - 1);
    }

    // As the comment at the top says.
    std::size_t next_size() const noexcept {
        if (taken_ <= kFirstBlock)
            return taken_ < kFirstBlock ? kFirstBlock : 4 * kFirstBlock;
        const std::size_t share = taken_ / kShare & ~(huge_page - 1);
        return share < huge_page ? huge_page : share;
    }

    // A block of at least so many bytes. It is not in a list yet.
    block* take(std::size_t needed) {
        std::size_t bytes = next_size();
        if (needed > bytes)
            bytes = round_up(needed, Memory::granularity());
        const pages kind = bytes >= huge_page ? pages_ : pages::normal;
        void* const at = bytes < needed ? nullptr : Memory::take(bytes, kind);
        if (at == nullptr)
            throw std::bad_alloc();
        taken_ += bytes;
        ++count_;
        return ::new (at) block{nullptr, bytes, static_cast<std::byte*>(at) + bytes};
    }

    [[gnu::noinline]] void* allocate_from_another(std::size_t bytes, std::size_t alignment) {
        // The header, and in front of what is asked for less than `alignment` bytes to align it.
        const std::size_t extra = sizeof(block) + (alignment - 1);
        const std::size_t needed = extra + bytes;
        if (extra < alignment || needed < bytes)
            throw std::bad_alloc();
        block* found = take_idle(needed);
        if (found == nullptr)
            found = take(needed);
        found->next = std::exchange(used_, found);
        std::byte* const first = reinterpret_cast<std::byte*>(found + 1);
        std::byte* const result = first + padding_to(first, alignment);
        if (found->end - (result + bytes) >= end_ - cursor_) {
            cursor_ = result + bytes;
            end_ = found->end;
        }
        return result;
    }

    // The first idle block with so many bytes, out of its list; or null.
    block* take_idle(std::size_t needed) noexcept {
        for (block** link = &idle_; *link != nullptr; link = &(*link)->next)
            if (needed <= static_cast<std::size_t>((*link)->end - reinterpret_cast<std::byte*>(*link)))
                return std::exchange(*link, (*link)->next);
        return nullptr;
    }

    void release(block*& list) noexcept {
        while (list != nullptr) {
            block* const last = std::exchange(list, list->next);
            taken_ -= static_cast<std::size_t>(last->end - reinterpret_cast<std::byte*>(last));
            --count_;
            Memory::release(last, last->reserved);
        }
    }

    // cursor_ <= end_, both in one block of used_, or null
    // taken_ == sum of (end - start) of all blocks, count_ == their number
    std::byte* cursor_ = nullptr;
    std::byte* end_ = nullptr;
    block* used_ = nullptr;
    block* idle_ = nullptr;
    std::size_t taken_ = 0;
    std::size_t count_ = 0;
    pages pages_;
};

} // namespace memtoll::detail
