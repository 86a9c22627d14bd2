// Operations read from bytes, and the claims that they check. Bytes that have run out are zero.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace memtoll::fuzz {

class operations {
public:
    operations(const std::uint8_t* bytes, std::size_t size) : next_(bytes), end_(bytes + size) {}

    bool over() const { return next_ == end_; }

    unsigned byte() { return over() ? 0 : *next_++; }

    // From 0 to `most`; every other one is small.
    std::size_t number(std::size_t most) {
        std::size_t value = byte();
        if (value % 2 == 0)
            return value / 2 % (most + 1);
        for (int i = 0; i < 3; ++i)
            value = value << 8 | byte();
        return value % (most + 1);
    }

private:
    const std::uint8_t* next_;
    const std::uint8_t* end_;
};

inline void claim(bool holds, const std::string& what) {
    if (!holds)
        throw std::logic_error("not true: " + what);
}

} // namespace memtoll::fuzz
