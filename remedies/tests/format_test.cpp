#include <memtoll/expect.hpp>
#include <memtoll/format.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace {

static_assert(MEMTOLL_USING(MEMTOLL_FORMAT_WITH_FMT), "the tests have {fmt}");

// Everything that an argument can be.
memtoll::text_writer format_all(std::span<char> buffer, const std::string& string) {
    const char* const nothing = nullptr;
    char array[] = "array";
    return memtoll::format_to(buffer, "{} {:08x} {:>6} {} {} {} {} {} {} {} {} {{}} {} {} {}", -5, 0xc0ffeeu, std::int8_t{-7},
                              std::uint64_t{1} << 63, true, 'c', string, std::string_view("view"), array, "literal", nothing, nullptr,
                              1.25f, static_cast<const void*>(nullptr));
}
constexpr std::string_view kAll = "-5 00c0ffee     -7 9223372036854775808 true c string view array literal (null) {} 0x0 1.25 0x0";

TEST(Format, EveryKindOfArgument) {
    char buffer[200];
    const auto out = format_all(buffer, "string");
    EXPECT_EQ(out.text(), kAll);
    EXPECT_EQ(out.wanted(), kAll.size());
    EXPECT_FALSE(out.truncated());
}

TEST(Format, FormsOfFloatsAndDoubles) {
    char buffer[2000];
    const auto text = [&](const memtoll::text_writer& out) { return std::string(out.text()); };
    EXPECT_EQ(text(memtoll::format_to(buffer, "{} {} {} {}", 0.1, 0.1f, 1e300, -0.0)), "0.1 0.1 1e+300 -0");
    EXPECT_EQ(text(memtoll::format_to(buffer, "{:.3f} {:e} {:.1e} {:g} {:.3}", 2.0 / 3, 1.5, 1.55e10, 1e20, 3.14159)),
              "0.667 1.500000e+00 1.6e+10 1e+20 3.14");
    EXPECT_EQ(text(memtoll::format_to(buffer, "[{:8.2f}] [{:3}] [{:2.0f}]", -1.005, 0.25, 100.0)), "[   -1.00] [0.25] [100]");
    EXPECT_EQ(text(memtoll::format_to(buffer, "{:L>5} {:*^5} {:L<3}:{}L", 1, "x", 'c', 2)), "LLLL1 **x** cLL:2L") << "L as a fill";
    EXPECT_EQ(memtoll::format_to(buffer, "{:.1074f}", 5e-324).text().size(), 1076u);
    EXPECT_EQ(text(memtoll::format_to(buffer, "{1:.1f} {0:.2f}", 1.0, 2.0)), "2.0 1.00");
}

TEST(Format, TruncationIsExact) {
    for (std::size_t size = 0; size <= kAll.size(); ++size) {
        std::vector<char> buffer(size + 1, '#');
        const auto out = format_all({buffer.data(), size}, "string");
        ASSERT_EQ(out.text(), kAll.substr(0, size));
        ASSERT_EQ(out.wanted(), kAll.size());
        ASSERT_EQ(out.truncated(), size < kAll.size());
        ASSERT_EQ(buffer[size], '#');
    }
}

TEST(Format, AppendsToAWriter) {
    std::array<char, 20> buffer;
    auto out = memtoll::format_to(buffer, "{}", 1);
    memtoll::format(out, ", {}", 2).append(", 3");
    EXPECT_EQ(out.text(), "1, 2, 3");
    memtoll::format(out, ", {}", std::string(100, 'x'));
    EXPECT_EQ(out.text(), "1, 2, 3, " + std::string(11, 'x'));
    EXPECT_EQ(out.wanted(), 109u);
    memtoll::format(out, "{}", 4);
    EXPECT_EQ(out.wanted(), 110u);
}

TEST(Format, NothingIsAllocated) {
    char large[3000], small[7];
    const std::string string = "string", text(1000, 'x');
    memtoll::expect_no_allocations scope;
    for (const std::span<char> buffer : {std::span<char>(large), std::span<char>(small)}) {
        auto out = format_all(buffer, string);
        memtoll::format(out, "{} {:.1074f} {:700.600e} {:>1000}", text, 5e-324, 1e308, 1);
    }
    const auto result = scope.end();
    EXPECT_TRUE(result) << result.what();
}

} // namespace
