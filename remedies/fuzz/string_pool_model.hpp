// string_pool against a model: a list of strings. Any operations in any order, with a system that refuses now and then.
#pragma once

#include <memtoll/string_pool.hpp>

#include "../tests/limited_memory.hpp"
#include "operations.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace memtoll::fuzz {

template <class Char> class string_pool_run {
public:
    explicit string_pool_run(operations input) : input_(input) {}

    void run() {
        while (!input_.over()) {
            const auto before = pool_.statistics();
            try {
                step();
            } catch (const std::bad_alloc&) {
                const auto after = pool_.statistics();
                claim(after.blocks == before.blocks && after.asked == before.asked, "nothing changes when memory runs out");
                claim(after.taken == before.taken || interning_, "nothing is taken when memory runs out");
            }
            check_numbers();
        }
        check_contents();
    }

private:
    using view_type = std::basic_string_view<Char>;
    using text_type = std::basic_string<Char>;

    struct raw {
        unsigned char* first;
        std::size_t bytes;
        std::size_t alignment;
        unsigned char filling;
    };

    void step() {
        const unsigned operation = input_.byte() % 16;
        interning_ = operation == 0;
        switch (operation) {
        case 0: return intern();
        case 1: return write();
        case 2: return allocate();
        case 3: return deallocate();
        case 4: return pool_.reserve(input_.number(3'000'000));
        case 5: return pool_.shrink_to_fit();
        case 6: return move();
        case 7: return refuse();
        case 8: return clear();
        case 9: return release();
        default: return add(input_.number(300'000));
        }
    }

    text_type text(std::size_t length) {
        const auto first = static_cast<Char>(input_.byte());
        text_type made(length, first);
        if (length != 0)
            made.back() = static_cast<Char>(input_.byte());
        return made;
    }

    void keep(view_type view, const text_type& expected) {
        strings_.emplace_back(view, expected);
        asked_ += (expected.size() + 1) * sizeof(Char);
    }

    void add(std::size_t length) {
        const text_type expected = text(length);
        keep(pool_.add(expected), expected);
    }

    void intern() {
        const text_type expected = text(input_.number(40));
        const view_type view = pool_.intern(expected);
        const auto [found, is_new] = interned_.emplace(expected, view.data());
        if (is_new)
            keep(view, expected);
        else
            claim(view.data() == found->second, "the same text is the same string");
        claim(view == expected, "what is interned is equal");
    }

    void write() {
        const std::size_t most = input_.number(100'000);
        const text_type expected = text(input_.number(most));
        if (input_.byte() % 4 == 0) {
            struct refusal {};
            try {
                pool_.add(most, [](Char*) -> std::size_t { throw refusal(); });
            } catch (const refusal&) {
            }
            return;
        }
        keep(pool_.add(most, [&](Char* room) {
            std::fill_n(room, most, static_cast<Char>(7));
            std::copy(expected.begin(), expected.end(), room);
            return expected.size();
        }), expected);
    }

    void allocate() {
        raw made{};
        made.bytes = input_.number(200'000);
        made.alignment = std::size_t{1} << input_.byte() % 14;
        made.filling = static_cast<unsigned char>(input_.byte());
        made.first = static_cast<unsigned char*>(pool_.allocate(made.bytes, made.alignment));
        claim(reinterpret_cast<std::uintptr_t>(made.first) % made.alignment == 0, "what is allocated is aligned");
        std::memset(made.first, made.filling, made.bytes);
        raws_.push_back(made);
        asked_ += made.bytes;
    }

    void deallocate() {
        if (raws_.empty())
            return;
        const raw last = raws_.back();
        raws_.pop_back();
        const std::size_t before = pool_.statistics().asked;
        pool_.deallocate(last.first, last.bytes, last.alignment);
        const std::size_t given = before - pool_.statistics().asked;
        claim(given == 0 || given == last.bytes, "all of it is used again, or nothing");
        asked_ -= given;
    }

    void move() {
        pool_type other(std::move(pool_));
        claim(pool_.statistics().taken == 0 && pool_.statistics().strings == 0, "a pool that was moved from is empty");
        try {
            if (input_.byte() % 2 == 0)
                pool_.add(text(3));
        } catch (const std::bad_alloc&) {
        }
        pool_ = std::move(other);
    }

    void refuse() {
        const unsigned calls = input_.byte();
        test::limited_memory::calls_left = calls < 128 ? calls % 4 : test::limited_memory::unlimited;
    }

    void clear() {
        check_contents();
        const std::size_t taken = pool_.statistics().taken;
        pool_.clear();
        claim(pool_.statistics().taken == taken, "clear() keeps the memory");
        forget();
    }

    void release() {
        check_contents();
        pool_.release();
        claim(pool_.statistics().taken == 0, "release() gives everything back");
        forget();
    }

    void forget() {
        strings_.clear();
        interned_.clear();
        raws_.clear();
        asked_ = 0;
    }

    void check_numbers() const {
        const auto numbers = pool_.statistics();
        claim(numbers.strings == strings_.size(), "the number of strings");
        claim(numbers.asked == asked_, "the bytes asked");
        claim(numbers.asked <= numbers.taken, "what was asked was taken");
        claim(numbers.taken <= test::limited_memory::bytes(), "what was taken came from the system");
    }

    void check_contents() const {
        for (const auto& [view, expected] : strings_) {
            claim(view == expected, "a string is what was added");
            claim(view.data()[view.size()] == Char(), "there is a zero behind it");
        }
        for (const raw& each : raws_)
            claim(std::all_of(each.first, each.first + each.bytes, [&](auto byte) { return byte == each.filling; }),
                  "memory belongs to one owner");
    }

    using pool_type = basic_string_pool<Char, test::limited_memory>;

    operations input_;
    pool_type pool_;
    std::vector<std::pair<view_type, text_type>> strings_;
    std::map<text_type, const Char*> interned_;
    std::vector<raw> raws_;
    std::size_t asked_ = 0;
    bool interning_ = false;
};

inline void run_string_pool(const std::uint8_t* bytes, std::size_t size) {
    test::limited_memory::forget();
    operations input(bytes, size);
    if (input.byte() % 2 == 0)
        string_pool_run<char>(input).run();
    else
        string_pool_run<char16_t>(input).run();
    claim(test::limited_memory::has_everything_back(), "everything goes back as it was given");
}

} // namespace memtoll::fuzz
