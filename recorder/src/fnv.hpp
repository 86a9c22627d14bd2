// The hash FNV-1a, in 32 or 64 bits: of bytes, or of larger parts where that is enough. crates/trace/src/fnv.rs is the same.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtoll {

template <class Hash> class Fnv {
    static_assert(sizeof(Hash) == 4 || sizeof(Hash) == 8);

public:
    constexpr Fnv& add(Hash part) {
        hash_ = (hash_ ^ part) * kPrime;
        return *this;
    }
    constexpr Fnv& add(const uint8_t* bytes, size_t count) {
        for (size_t i = 0; i < count; ++i) add(bytes[i]);
        return *this;
    }
    constexpr Hash hash() const { return hash_; }

private:
    static constexpr Hash kPrime = static_cast<Hash>(sizeof(Hash) == 4 ? 16777619u : 1099511628211u);
    Hash hash_ = static_cast<Hash>(sizeof(Hash) == 4 ? 2166136261u : 14695981039346656037u);
};

} // namespace memtoll
