#include "tested.h"
#include <catch2/catch.hpp>

TEST_CASE("makes many, in a [loop]") { make_blocks(1000); }
TEST_CASE("makes none") {}
