// region and reserved_vector against simple models: a list of pages with what must be in them, and a std::vector. Any
// operations in any order, with a system that refuses now and then.
#pragma once

#include <memtoll/region.hpp>
#include <memtoll/reserved_vector.hpp>

#include "../tests/limited_memory.hpp"
#include "operations.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace memtoll::fuzz {

inline void refuse_or_not(operations& input) {
    const unsigned calls = input.byte();
    test::limited_memory::calls_left = calls < 128 ? calls % 4 : test::limited_memory::unlimited;
}

class region_run {
public:
    region_run(operations input, pages kind)
        : input_(input), range_(kind == pages::huge ? 3 * detail::huge_page : 40 * detail::system_memory::page(), kind),
          granules_(range_.size() / range_.granule()) {}

    void run() {
        while (!input_.over()) {
            step();
            check();
        }
    }

private:
    // A granule is touched at its first, its last and one more byte.
    struct granule {
        bool committed = false;
        bool reset = false; // zero instead of `filling` is right, too
        unsigned char filling = 0;
    };

    void step() {
        const unsigned operation = input_.byte() % 8;
        if (operation == 6)
            return refuse_or_not(input_);
        if (operation == 7) {
            basic_region<test::limited_memory> other(std::move(range_));
            claim(range_.data() == nullptr && range_.size() == 0, "a region that was moved from is empty");
            range_ = std::move(other);
            return;
        }
        const std::size_t offset = input_.number(range_.size() + range_.granule());
        const std::size_t bytes = input_.number(range_.size() + range_.granule());
        if (operation < 2)
            commit(offset, bytes);
        else if (operation == 2)
            write(offset, bytes);
        else
            give_back(offset, bytes, operation == 3 ? purge::now : operation == 4 ? purge::lazy : purge::keep);
    }

    void commit(std::size_t offset, std::size_t bytes) {
        const bool within = offset <= range_.size() && bytes <= range_.size() - offset;
        try {
            range_.commit(offset, bytes);
        } catch (const std::out_of_range&) {
            return claim(!within, "what is within the range can be committed");
        } catch (const std::bad_alloc&) {
            return claim(within && test::limited_memory::calls_left == 0, "the system was asked and refused");
        }
        claim(within, "what is beyond the range cannot be committed");
        if (bytes != 0)
            for (std::size_t i = offset / range_.granule(); i * range_.granule() < offset + bytes; ++i)
                if (!std::exchange(granules_[i].committed, true))
                    granules_[i] = {true, false, 0};
    }

    void write(std::size_t offset, std::size_t bytes) {
        for (std::size_t i = 0; i < granules_.size(); ++i)
            if (granules_[i].committed && i * range_.granule() >= offset && i * range_.granule() < offset + bytes) {
                granules_[i] = {true, false, static_cast<unsigned char>(offset + bytes)};
                for (std::byte* const at : touched(i))
                    *at = std::byte(granules_[i].filling);
            }
    }

    void give_back(std::size_t offset, std::size_t bytes, purge how) {
        range_.give_back(offset, bytes, how);
        for (std::size_t i = 0; i < granules_.size(); ++i) {
            const bool whole = i * range_.granule() >= offset && (i + 1) * range_.granule() <= offset + bytes;
            if (whole && how == purge::now)
                granules_[i] = {};
            else if (whole && how == purge::lazy)
                granules_[i].reset = true;
        }
    }

    std::vector<std::byte*> touched(std::size_t index) {
        std::byte* const first = range_.data() + index * range_.granule();
        return {first, first + range_.granule() / 3, first + range_.granule() - 1};
    }

    void check() {
        for (std::size_t i = 0; i < granules_.size(); ++i)
            if (granules_[i].committed)
                for (const std::byte* const at : touched(i))
                    claim(*at == std::byte(granules_[i].filling) || (granules_[i].reset && *at == std::byte(0)),
                          "memory keeps what was written");
    }

    operations input_;
    basic_region<test::limited_memory> range_;
    std::vector<granule> granules_;
};

// Elements of 24 bytes: they lie across the ends of pages.
class reserved_vector_run {
public:
    explicit reserved_vector_run(operations input) : input_(input) {}

    void run() {
        const element* const begin = vector_.data();
        while (!input_.over()) {
            try {
                step();
            } catch (const std::length_error&) {
                claim(asked_ > kMost, "what was reserved fits");
            } catch (const std::bad_alloc&) {
                claim(test::limited_memory::calls_left == 0, "the system was asked and refused");
            }
            claim(vector_.data() == begin, "elements never move");
            claim(vector_.size() == model_.size() && vector_.size() <= vector_.capacity(), "the size");
        }
        claim(std::equal(vector_.begin(), vector_.end(), model_.begin(), model_.end()), "the elements");
    }

private:
    struct element {
        std::size_t number = 0;
        std::size_t zeros[2] = {};
        bool operator==(const element& other) const {
            return number == other.number && zeros[0] == other.zeros[0] && zeros[1] == other.zeros[1];
        }
    };

    static constexpr std::size_t kMost = 50'000;

    void step() {
        asked_ = vector_.size() + 1;
        switch (input_.byte() % 8) {
        case 0: return resize(input_.number(kMost + 1'000));
        case 1: return reserve(input_.number(kMost + 1'000));
        case 2: return clear(input_.byte());
        case 3: return vector_.shrink_to_fit(input_.byte() % 2 == 0 ? purge::now : purge::lazy);
        case 4: return refuse_or_not(input_);
        case 5: return pop();
        case 6: return move();
        default: return push(input_.number(2'000));
        }
    }

    void push(std::size_t count) {
        for (std::size_t i = 0; i < count; ++i) {
            asked_ = vector_.size() + 1;
            vector_.push_back(element{i, {}});
            model_.push_back(element{i, {}});
        }
    }

    void resize(std::size_t count) {
        asked_ = count;
        vector_.resize(count);
        model_.resize(count);
    }

    void reserve(std::size_t count) {
        asked_ = count;
        vector_.reserve(count);
        claim(vector_.capacity() >= count, "what was reserved fits");
    }

    void clear(unsigned how) {
        vector_.clear(how % 3 == 0 ? purge::keep : how % 3 == 1 ? purge::lazy : purge::now);
        model_.clear();
    }

    void pop() {
        if (model_.empty())
            return;
        vector_.pop_back();
        model_.pop_back();
    }

    void move() {
        reserved_vector<element, test::limited_memory> other(std::move(vector_));
        claim(vector_.empty() && vector_.max_size() == 0, "a vector that was moved from holds nothing");
        vector_ = std::move(other);
    }

    operations input_;
    reserved_vector<element, test::limited_memory> vector_{kMost};
    std::vector<element> model_;
    std::size_t asked_ = 0;
};

inline void run_region(const std::uint8_t* bytes, std::size_t size) {
    test::limited_memory::forget();
    operations input(bytes, size);
    const unsigned which = input.byte() % 8;
    if (which < 4)
        region_run(input, pages::normal).run();
    else if (which == 4)
        region_run(input, pages::huge).run();
    else
        reserved_vector_run(input).run();
    claim(test::limited_memory::has_everything_back(), "everything goes back as it was given");
}

} // namespace memtoll::fuzz
