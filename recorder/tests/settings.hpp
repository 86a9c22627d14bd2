// Settings of the randomised tests, from the environment, so that they can be run longer or replayed:
//   MEMTOLL_TEST_SEED=7 MEMTOLL_TEST_ROUNDS=1000000 recorder_tests --gtest_filter='*Damaged*'
#pragma once

#include <cstdint>
#include <cstdlib>
#include <random>

namespace memtoll::test {

inline uint64_t setting(const char* name, uint64_t otherwise) {
    const char* value = getenv(name);
    return value ? strtoull(value, nullptr, 0) : otherwise;
}

inline uint64_t seed() { return setting("MEMTOLL_TEST_SEED", 1); }
inline uint64_t rounds(uint64_t otherwise) { return setting("MEMTOLL_TEST_ROUNDS", otherwise); }

// Numbers below a bound, the same for the same seed everywhere.
class Random {
public:
    explicit Random(uint64_t stream) : engine_(seed() * 0x9e3779b97f4a7c15u + stream) {}
    uint64_t word() { return engine_(); }
    uint64_t below(uint64_t bound) { return engine_() % bound; }
    bool one_in(uint64_t n) { return below(n) == 0; }

private:
    std::mt19937_64 engine_;
};

} // namespace memtoll::test
