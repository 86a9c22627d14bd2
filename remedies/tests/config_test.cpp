#include <memtoll/config.hpp>

#include <gtest/gtest.h>

#define TEST_ON MEMTOLL_ON
#define TEST_OFF MEMTOLL_OFF

namespace {

TEST(Config, ASwitchIsOnOrOff) {
#if MEMTOLL_USING(TEST_ON) && !MEMTOLL_USING(TEST_OFF)
    static_assert(MEMTOLL_USING(TEST_ON) && !MEMTOLL_USING(TEST_OFF));
    SUCCEED();
#else
    FAIL() << "the preprocessor sees it differently";
#endif
}

} // namespace
