// The models of remedies/fuzz with random operations; the same ones on every run.
#include "../fuzz/region_model.hpp"
#include "../fuzz/string_pool_model.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace {

using namespace memtoll::fuzz;

#if defined(__SANITIZE_THREAD__)
constexpr unsigned kInputs = 10; // Each mapping costs that sanitizer milliseconds, and there is only one thread.
#else
constexpr unsigned kInputs = 150;
#endif

void run_many(void (*model)(const std::uint8_t*, std::size_t)) {
    for (unsigned seed = 0; seed < kInputs; ++seed) {
        std::mt19937 random(seed);
        std::vector<std::uint8_t> bytes(random() % 1'500);
        for (std::uint8_t& byte : bytes)
            byte = static_cast<std::uint8_t>(random());
        ASSERT_NO_THROW(model(bytes.data(), bytes.size())) << "seed " << seed;
    }
}

TEST(Model, StringPool) { run_many(run_string_pool); }
TEST(Model, Region) { run_many(run_region); }

} // namespace
