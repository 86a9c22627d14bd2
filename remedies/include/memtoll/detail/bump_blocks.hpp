// Memory that is handed out by bumping a pointer through blocks from the system, and given back all at once.
//
//     block:  | header | used ... | cursor -> ... given ... | addresses that have no memory yet ... | end
//
// A block is a range of addresses. The system gives memory for it step by step, a 128th of what it has given so far: then
// less than 1 % is unused, and a step takes the place of up to 512 page faults. With huge pages a step is a huge page: a
// third of the price, but the last one is not full. So a block has them where it is known how much will come (reserve(), or
// one large request), where a 128th is as much (from 256 MiB on), and from the third block on if they are asked for.
//
// Two lists: blocks in use, and idle ones that clear() has kept. The first block in use is current: cursor and end are its.
// A request that finds no room there takes a block, and whichever of the two has more room left is current from then on:
// so a large request does not waste the rest of the current block.
//
// The first block has 64 KiB, the second 256 KiB, then they have 2 MiB each, and finally a 128th of the whole.
#pragma once

#include <memtoll/detail/own_pool.hpp>
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
          origin_(std::exchange(other.origin_, 0)), taken_(std::exchange(other.taken_, 0)),
          count_(std::exchange(other.count_, 0)), pages_(other.pages_) {}

    bump_blocks& operator=(bump_blocks&&) = delete;

    ~bump_blocks() { release(); }

    void swap(bump_blocks& other) noexcept {
        std::swap(cursor_, other.cursor_);
        std::swap(end_, other.end_);
        std::swap(used_, other.used_);
        std::swap(idle_, other.idle_);
        std::swap(origin_, other.origin_);
        std::swap(taken_, other.taken_);
        std::swap(count_, other.count_);
        std::swap(pages_, other.pages_);
    }

    // `bytes` is at least 1, `alignment` a power of two. Throws std::bad_alloc; then nothing has changed.
    void* allocate(std::size_t bytes, std::size_t alignment) {
        const std::size_t padding = padding_to(cursor_, alignment);
        if (padding > room() || bytes > room() - padding)
            return allocate_from_another(bytes, alignment);
        std::byte* const found = cursor_ + padding;
        cursor_ = found + bytes;
        if (padding != 0)
            origin_ += padding;
        handed_out(found, bytes);
        return found;
    }

    // Whether `bytes` could be allocated where the latest allocation ended.
    bool has_next(std::size_t bytes, std::size_t alignment) const noexcept {
        return bytes <= room() && padding_to(cursor_, alignment) == 0;
    }

    // If so: allocates them, or fewer.
    void* next(std::size_t bytes) noexcept {
        handed_out(cursor_, bytes);
        return std::exchange(cursor_, cursor_ + bytes);
    }

    // Makes room again where the latest allocation ended: its last `bytes`. Elsewhere, does nothing.
    bool shorten(void* end, std::size_t bytes) noexcept {
        if (end != cursor_)
            return false;
        cursor_ -= bytes;
        return true;
    }

    // `bytes` that were asked for were not needed, but they cannot be used again.
    void discount(std::size_t bytes) noexcept { origin_ += bytes; }

    // A block for allocations of `bytes` to come, if none has as much room.
    void reserve(std::size_t bytes) {
        constexpr std::size_t alignment = alignof(std::max_align_t);
        const std::size_t needed = block_for(bytes, alignment);
        if ((used_ != nullptr && fits(*used_, cursor_, bytes, alignment)) || *best_idle(needed) != nullptr)
            return;
        block* const fresh = take(needed);
        give(*fresh, fresh->first());
        fresh->next = std::exchange(idle_, fresh);
    }

    // All blocks become idle.
    void clear() noexcept {
        forget_current();
        while (used_ != nullptr) {
            block* const moved = std::exchange(used_, used_->next);
            pool_begins(kName, moved, moved->reserved);
            moved->next = std::exchange(idle_, moved);
        }
    }

    // Gives back idle blocks and the unused rest of the current one.
    void shrink_to_fit() noexcept {
        release(idle_);
        if (used_ != nullptr)
            trim();
    }

    void release() noexcept {
        forget_current();
        release(used_);
        release(idle_);
    }

    std::size_t bytes_used() const noexcept { return reinterpret_cast<std::uintptr_t>(cursor_) - origin_; }
    std::size_t bytes_taken() const noexcept { return taken_; }
    std::size_t count() const noexcept { return count_; }

private:
    struct block {
        block* next;
        std::size_t reserved; // bytes of addresses, this header included
        pages kind;
        std::byte* given; // so far the system has given memory
        std::byte* end;   // of what may be used: shrink_to_fit() moves it

        std::byte* start() noexcept { return reinterpret_cast<std::byte*>(this); }
        std::byte* first() noexcept { return start() + sizeof(block); }
        std::size_t size() noexcept { return static_cast<std::size_t>(end - start()); }
    };

    static constexpr const char* kName = "string_pool";
    static constexpr std::size_t kFirstBlock = std::size_t{64} << 10;
    static constexpr std::size_t kShare = 128;

    static std::size_t padding_to(const std::byte* at, std::size_t alignment) noexcept {
        return -reinterpret_cast<std::uintptr_t>(at) & (alignment - 1);
    }

    std::size_t room() const noexcept { return static_cast<std::size_t>(end_ - cursor_); }

    void forget_current() noexcept {
        cursor_ = end_ = nullptr;
        origin_ = 0;
    }

    // As the comment at the top says.
    std::size_t next_size() const noexcept {
        if (taken_ <= kFirstBlock)
            return taken_ < kFirstBlock ? kFirstBlock : 4 * kFirstBlock;
        const std::size_t share = taken_ / kShare & ~(huge_page - 1);
        return share < huge_page ? huge_page : share;
    }

    // A block of at least `needed` bytes. It is not in a list yet, and no memory was given for it.
    block* take(std::size_t needed) {
        std::size_t bytes = next_size();
        const bool is_known = needed > bytes;
        if (is_known)
            bytes = round_up(needed, Memory::granularity());
        const bool is_huge = bytes >= huge_page && (is_known || taken_ / kShare >= huge_page || pages_ == pages::huge);
        const pages kind = is_huge ? pages::huge : pages::small;
        void* const at = bytes < needed ? nullptr : Memory::take(bytes, kind);
        if (at == nullptr)
            throw std::bad_alloc();
        ++count_;
        auto* const start = static_cast<std::byte*>(at);
        pool_begins(kName, at, bytes);
        return ::new (at) block{nullptr, bytes, kind, start, start + bytes};
    }

    // Gives back the unused rest of the current block.
    void trim() noexcept {
        std::byte* const rest = cursor_ + padding_to(cursor_, Memory::page());
        if (rest >= used_->end)
            return;
        Memory::decommit(rest, static_cast<std::size_t>(used_->end - rest));
        used_->end = rest;
        if (rest < used_->given) {
            taken_ -= static_cast<std::size_t>(used_->given - rest);
            used_->given = end_ = rest;
        }
    }

    // Has the system give memory for the block, up to `upto` at least.
    void give(block& to, const std::byte* upto) noexcept {
        if (upto <= to.given)
            return;
        const auto given = static_cast<std::size_t>(to.given - to.start());
        const auto asked = static_cast<std::size_t>(upto - to.start());
        const auto most = static_cast<std::size_t>(to.end - to.start());
        const bool is_huge = to.kind == pages::huge && most - given >= huge_page;
        const std::size_t multiple = is_huge ? huge_page : Memory::page();
        const std::size_t share = is_huge ? huge_page : taken_ / kShare;
        std::size_t next = round_up(asked, multiple);
        if (next < given + share)
            next = (given + share) & ~(multiple - 1);
        if (next > most)
            next = most;
        if (!is_huge) // One touch brings a huge page.
            Memory::populate(to.given, next - given);
        to.given = to.start() + next;
        taken_ += next - given;
    }

    [[gnu::noinline]] void* allocate_from_another(std::size_t bytes, std::size_t alignment) {
        if (used_ != nullptr && fits(*used_, cursor_, bytes, alignment)) {
            give(*used_, cursor_ + padding_to(cursor_, alignment) + bytes);
            end_ = used_->given;
            return allocate(bytes, alignment);
        }
        const std::size_t needed = block_for(bytes, alignment);
        block** const idle = best_idle(needed);
        block* const found = *idle != nullptr ? std::exchange(*idle, (*idle)->next) : take(needed);
        std::byte* const result = found->first() + padding_to(found->first(), alignment);
        give(*found, result + bytes);
        if (used_ != nullptr && found->end - (result + bytes) < used_->end - cursor_) {
            found->next = std::exchange(used_->next, found);
            origin_ -= bytes;
            handed_out(result, bytes);
            return result;
        }
        // A large request has left much room. A huge page is not split for that.
        if (used_ != nullptr && used_->kind != pages::huge && room() >= Memory::page())
            trim();
        origin_ = reinterpret_cast<std::uintptr_t>(result) - bytes_used();
        found->next = std::exchange(used_, found);
        cursor_ = result + bytes;
        end_ = found->given;
        handed_out(result, bytes);
        return result;
    }

    static bool fits(const block& in, const std::byte* at, std::size_t bytes, std::size_t alignment) noexcept {
        const std::size_t padding = padding_to(at, alignment);
        const auto room = static_cast<std::size_t>(in.end - at);
        return padding <= room && bytes <= room - padding;
    }

    // How large a block for an allocation must be: the header, less than `alignment` bytes to align it, and `bytes`.
    static std::size_t block_for(std::size_t bytes, std::size_t alignment) {
        const std::size_t extra = sizeof(block) + (alignment - 1);
        const std::size_t needed = extra + bytes;
        if (extra < alignment || needed < bytes)
            throw std::bad_alloc();
        return needed;
    }

    // Where the list of idle blocks has the smallest one that is as large, so that the large ones stay for large
    // requests; its end if there is none.
    block** best_idle(std::size_t needed) noexcept {
        block** best = nullptr;
        block** link = &idle_;
        for (; *link != nullptr; link = &(*link)->next)
            if ((*link)->size() >= needed && (best == nullptr || (*link)->size() < (*best)->size()))
                best = link;
        return best != nullptr ? best : link;
    }

    void release(block*& list) noexcept {
        while (list != nullptr) {
            block* const last = std::exchange(list, list->next);
            taken_ -= static_cast<std::size_t>(last->given - last->start());
            --count_;
            pool_ends(last);
            Memory::release(last, last->reserved);
        }
    }

    // cursor_ <= end_ == used_->given, both in the first block of used_; or all three are null
    // cursor_ - origin_ == bytes that were asked for, as if all of them lay in front of the cursor
    // taken_ == sum of (given - start) of all blocks, count_ == their number
    std::byte* cursor_ = nullptr;
    std::byte* end_ = nullptr;
    block* used_ = nullptr;
    block* idle_ = nullptr;
    std::uintptr_t origin_ = 0;
    std::size_t taken_ = 0;
    std::size_t count_ = 0;
    pages pages_;
};

} // namespace memtoll::detail
