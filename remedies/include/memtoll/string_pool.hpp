// Strings that never change, live together and die together: a loaded dictionary, the names in a file, a parsed document.
//
//     memtoll::string_pool names;
//     std::string_view name = names.add("memory");      // a copy in the pool, with a zero behind it
//     std::puts(name.data());
//     std::string_view same = names.intern("memory");   // each text once
//
// A string costs its characters and a zero: no header, no rounding, no search for a free block, nothing to free one by
// one. They lie one behind the other in blocks straight from the system; from 1 MiB on, less than 1 % of these is unused.
// README.md says how much faster that is than other ways (`make bench-remedies`).
//
// In a recording of memtoll, strings are blocks, charged to the line that adds them (MEMTOLL_OWN_POOLS in
// detail/own_pool.hpp: on unless NDEBUG is defined).
//
// What it returns is valid until clear(), release(), assignment or destruction. Moving the pool moves no string.
// Thread safety: as the containers of the standard library; one pool a thread needs no lock.
#pragma once

#include <memtoll/detail/bump_blocks.hpp>
#include <memtoll/detail/copy_masked.hpp>
#include <memtoll/detail/copy_short.hpp>
#include <memtoll/detail/string_table.hpp>
#include <memtoll/detail/system_memory.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace memtoll {

struct string_pool_statistics {
    std::size_t strings; // kept in the pool; interned ones count once
    std::size_t asked;   // bytes of these with their zeros, and of what was allocated through the memory resource
    std::size_t taken;   // bytes that the system has given memory for, with the table of interned strings
    std::size_t blocks;

    // What it takes beyond what was asked: 0.01 is 1 %.
    double overhead() const noexcept {
        return asked == 0 ? 0.0 : (static_cast<double>(taken) - static_cast<double>(asked)) / static_cast<double>(asked);
    }
};

// The pool of strings of `Char`. It is a std::pmr::memory_resource, too, so that containers can put their nodes beside the
// strings; what they give back is used again only if it was taken last. `Memory` is the system; tests put one there that
// fails.
//
// Whatever throws leaves the pool as it was; only the table of interned strings may have grown.
template <class Char, class Memory = detail::system_memory> class basic_string_pool : public std::pmr::memory_resource {
public:
    using value_type = Char;
    using size_type = std::size_t;
    using view_type = std::basic_string_view<Char>;

    // An empty pool, which takes no memory yet. It uses huge pages where it knows that they will be full: after reserve(),
    // for large strings, and from 256 MiB on. With `pages::huge` it does so from 320 KiB on, where the system has them:
    // saves most of the page faults, and holds up to 2 MiB more until shrink_to_fit(). O(1).
    explicit basic_string_pool(pages kind = pages::normal) noexcept : blocks_(kind) {}

    // The pool moves, its strings do not; `other` is left empty. Containers that use `other` as their memory resource must
    // be gone. O(1).
    basic_string_pool(basic_string_pool&& other) noexcept
        : std::pmr::memory_resource(), blocks_(std::move(other.blocks_)), interned_(std::move(other.interned_)),
          strings_(std::exchange(other.strings_, 0)) {}

    // Removes the strings that it had, and gives their memory back; then as the constructor. O(blocks).
    basic_string_pool& operator=(basic_string_pool&& other) noexcept {
        basic_string_pool(std::move(other)).swap(*this);
        return *this;
    }

    // Removes all strings and gives the memory back. O(blocks), whatever the number of strings.
    ~basic_string_pool() override = default;

    // The strings stay where they are; those who use one of the pools as their memory resource must be gone. O(1).
    void swap(basic_string_pool& other) noexcept {
        blocks_.swap(other.blocks_);
        interned_.swap(other.interned_);
        std::swap(strings_, other.strings_);
    }

    // A copy of `text` with a zero behind it. O(length); now and then a system call.
    // Throws std::length_error if its bytes cannot be counted, std::bad_alloc if the system has no memory.
    //
    //     entry.pinyin = pool.add(line.substr(open, close - open));
    //
    // In line: as a call of its own, filling a dictionary took a sixth longer. And where the processor can, without a
    // branch on the length, which takes a fifth off.
    [[gnu::always_inline]] view_type add(view_type text) {
        if (__builtin_expect(can_add_masked(text.size()), true)) {
            auto* const copy = static_cast<Char*>(blocks_.next((text.size() + 1) * sizeof(Char)));
            ++strings_;
            detail::copy_masked(copy, text.data(), text.size() * sizeof(Char));
            return {copy, text.size()};
        }
        Char* const copy = take(text.size());
        detail::copy_short(copy, text.data(), text.size() * sizeof(Char));
        copy[text.size()] = Char();
        return {copy, text.size()};
    }

    // A string that is written in place: `write(Char* room)` writes at most `most` characters and returns how many. What is
    // left is used for the next string. O(1) and what `write` takes; throws what add() and `write` throw.
    //
    //     pool.add(line.size(), [&](wchar_t* room) { return convert(line, room); });
    template <class Write> view_type add(size_type most, Write write) {
        Char* const room = take(most);
        size_type length = 0;
        try {
            length = write(room);
        } catch (...) {
            untake(room + most + 1, most + 1);
            detail::taken_back(room);
            --strings_;
            throw;
        }
        assert(length <= most);
        room[length] = Char();
        untake(room + most + 1, most - length);
        detail::resized(room, (length + 1) * sizeof(Char));
        return {room, length};
    }

    // The string that was interned with the same text before, or a copy as by add(). O(length), and 32 to 64 bytes for each
    // different text.
    //
    //     entry.word_class = pool.intern(word_class);
    view_type intern(view_type text) {
        return interned_.find_or_insert(text, [&] { return add(text); });
    }

    // Takes a block of addresses for `bytes` of strings and their zeros to come, unless there is room for them. Memory comes
    // as it fills, in huge pages where the system has them: so a few too many cost nothing.
    //
    //     pool.reserve(file.size());
    void reserve(size_type bytes) { blocks_.reserve(bytes); }

    // Removes all strings and keeps the memory for the next ones. O(blocks), and the table of interned strings.
    void clear() noexcept {
        blocks_.clear();
        interned_.clear();
        strings_ = 0;
    }

    // Gives back what is not used: the idle blocks, and the rest of the last one. A few system calls.
    void shrink_to_fit() noexcept { blocks_.shrink_to_fit(); }

    // Removes all strings and gives the memory back. O(blocks).
    void release() noexcept {
        blocks_.release();
        interned_.release();
        strings_ = 0;
    }

    // O(1).
    //
    //     std::printf("%.2f %%\n", 100 * pool.statistics().overhead());
    string_pool_statistics statistics() const noexcept {
        return {strings_, blocks_.bytes_used(), blocks_.bytes_taken() + interned_.bytes_taken(), blocks_.count()};
    }

private:
    static constexpr size_type kMasked = 64; // bytes that copy_masked() writes
    static constexpr size_type kMost = static_cast<size_type>(PTRDIFF_MAX) / sizeof(Char) - 1;

    bool can_add_masked(size_type characters) const noexcept {
        return detail::can_copy_masked && characters < kMasked / sizeof(Char) && blocks_.has_next(kMasked, alignof(Char));
    }

    // Room for a string of `characters` and its zero.
    Char* take(size_type characters) {
        if (characters > kMost)
            throw std::length_error("memtoll::string_pool: a string longer than memory");
        const size_type bytes = (characters + 1) * sizeof(Char);
        auto* const room = static_cast<Char*>(blocks_.allocate(bytes, alignof(Char)));
        ++strings_;
        return room;
    }

    // The last `characters` before `end`, which was taken last, were not needed.
    void untake(Char* end, size_type characters) noexcept {
        const size_type bytes = characters * sizeof(Char);
        if (!blocks_.shorten(end, bytes))
            blocks_.discount(bytes);
    }

    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        if (bytes != 0)
            return blocks_.allocate(bytes, alignment);
        void* const room = blocks_.allocate(1, alignment);
        blocks_.shorten(static_cast<std::byte*>(room) + 1, 1);
        return room;
    }

    void do_deallocate(void* room, std::size_t bytes, std::size_t) override {
        detail::taken_back(room);
        blocks_.shorten(static_cast<std::byte*>(room) + bytes, bytes);
    }

    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }

    detail::bump_blocks<Memory> blocks_;
    detail::string_table<Char, Memory> interned_;
    std::size_t strings_ = 0;
};

using string_pool = basic_string_pool<char>;
using wstring_pool = basic_string_pool<wchar_t>;
using u16string_pool = basic_string_pool<char16_t>;
#ifdef __cpp_char8_t
using u8string_pool = basic_string_pool<char8_t>;
#endif

} // namespace memtoll
