// What happens when the system itself has no memory left: in a process of its own, with a limit on its addresses.
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include <memtoll/reserved_vector.hpp>
#include <memtoll/string_pool.hpp>

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <sys/resource.h>

namespace {

using namespace memtoll;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

// Addresses that this process may still take.
void leave(std::size_t bytes) {
    std::size_t pages_used = 0;
    std::FILE* const file = std::fopen("/proc/self/statm", "r");
    if (file == nullptr || std::fscanf(file, "%zu", &pages_used) != 1)
        std::exit(2);
    std::fclose(file);
    const rlim_t most = pages_used * detail::system_memory::page() + bytes;
    const rlimit limit{most, most};
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        std::exit(3);
}

// Ends the process: 0 if `holds`.
void finish(bool holds) { std::_Exit(holds ? 0 : 1); }

using OutOfMemoryDeathTest = testing::Test;

TEST(OutOfMemoryDeathTest, StringPoolStaysAsItWas) {
    const auto run = [] {
        leave(40 * mebibyte);
        string_pool pool;
        std::string_view first = pool.add("the first");
        std::size_t added = 1;
        string_pool_statistics before{};
        const std::string text(100'000, 'x');
        try {
            for (;; ++added) {
                before = pool.statistics();
                pool.add(text);
            }
        } catch (const std::bad_alloc&) {
        }
        const string_pool_statistics after = pool.statistics();
        const bool same = after.strings == before.strings && after.taken == before.taken && after.asked == before.asked;
        pool.clear();
        const bool again = pool.add(text) == text;
        finish(same && again && after.strings == added && added > 300 && first.size() == 9);
    };
    EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST(OutOfMemoryDeathTest, RegionIsNotReserved) {
    const auto run = [] {
        leave(40 * mebibyte);
        bool refused = false;
        try {
            const region range(80 * mebibyte, pages::huge);
        } catch (const std::bad_alloc&) {
            refused = true;
        }
        const region smaller(20 * mebibyte);
        finish(refused && smaller.data() != nullptr);
    };
    EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

// Huge pages need an aligned address, and room to look for one.
TEST(OutOfMemoryDeathTest, OrdinaryPagesWhereHugeOnesDoNotFit) {
    const auto run = [] {
        const std::size_t bytes = 8 * mebibyte - detail::system_memory::page(); // the kernel does not align this by itself
        leave(9 * mebibyte);
        void* const taken = detail::system_memory::take(bytes, pages::huge);
        finish(taken != nullptr);
    };
    EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

// A limit on data counts memory that may be written: reserving is free, committing is not.
TEST(OutOfMemoryDeathTest, ReservedVectorGrowsUntilNothingIsLeft) {
    const auto run = [] {
        const rlimit limit{20 * mebibyte, 20 * mebibyte};
        setrlimit(RLIMIT_DATA, &limit);
        reserved_vector<int> numbers(100 * mebibyte);
        bool refused = false;
        try {
            for (int i = 0;; ++i)
                numbers.push_back(i);
        } catch (const std::bad_alloc&) {
            refused = true;
        }
        bool kept = numbers.size() == numbers.capacity() && numbers.size() > mebibyte;
        for (std::size_t i = 0; i < numbers.size(); ++i)
            kept = kept && numbers[i] == static_cast<int>(i);
        finish(refused && kept);
    };
    EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

} // namespace
#endif
