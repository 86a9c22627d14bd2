// standards: 17 20
#include <gtest/gtest.h>
#include <memtoll/expect.hpp>
void draw();
@remedies/README.md: TEST(Frame, AllocatesNothing) {
