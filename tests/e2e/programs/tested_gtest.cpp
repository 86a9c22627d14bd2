#include "tested.h"
#include <gtest/gtest.h>

TEST(Loop, MakesMany) { make_blocks(1000); }
TEST(Loop, MakesNone) {}
TEST(Other, DISABLED_Fails) { FAIL(); }

class Sizes : public testing::TestWithParam<int> {};
TEST_P(Sizes, MakesSome) { make_blocks(GetParam()); }
INSTANTIATE_TEST_SUITE_P(All, Sizes, testing::Values(10, 20));

int main(int count, char** words) {
    testing::InitGoogleTest(&count, words);
    return RUN_ALL_TESTS();
}
