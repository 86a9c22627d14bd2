#include <memtoll/expect.hpp>
#include <memtoll/text_writer.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>

namespace {

using memtoll::text_writer;

template <class Argument, class = void> inline constexpr bool can_append = false;
template <class Argument>
inline constexpr bool can_append<Argument, std::void_t<decltype(std::declval<text_writer&>().append(std::declval<Argument>()))>> = true;
static_assert(can_append<int> && can_append<char> && can_append<const char*> && can_append<float>);
static_assert(!can_append<std::nullptr_t> && !can_append<bool> && !can_append<long double>);
static_assert(!can_append<wchar_t> && !can_append<char8_t> && !can_append<char16_t> && !can_append<char32_t>);

TEST(TextWriter, AppendsTextCharactersAndNumbers) {
    char buffer[200];
    text_writer out(buffer);
    const std::string string = "string";
    out.append("literal ").append(string).append(' ').append(-5).append(' ').append(std::uint8_t{200}).append(' ');
    out.append(255u, 16).append(' ').append(5, 2).append(' ').append(0.1).append(' ').append(0.1f).append(' ');
    out.append(1.0 / 3, std::chars_format::fixed, 3).append(' ').append(1e20, std::chars_format::scientific, 0);
    EXPECT_EQ(out.text(), "literal string -5 200 ff 101 0.1 0.1 0.333 1e+20");
    EXPECT_EQ(out.wanted(), out.text().size());
    EXPECT_FALSE(out.truncated());
    out.clear();
    EXPECT_EQ(out.text(), "");
    const char* const nothing = nullptr;
    out.append(nothing);
    EXPECT_EQ(out.text(), "(null)") << "as format.hpp and printf";
}

TEST(TextWriter, ExtremesOfWholeNumbers) {
    char buffer[300];
    text_writer out(buffer);
    out.append(std::numeric_limits<std::int64_t>::min()).append(' ').append(std::numeric_limits<std::uint64_t>::max());
    EXPECT_EQ(out.text(), "-9223372036854775808 18446744073709551615");
    out.clear();
    out.append(std::numeric_limits<std::int64_t>::min(), 2);
    EXPECT_EQ(out.text(), "-1" + std::string(63, '0'));
}

TEST(TextWriter, ZerosInFrontOfANumber) {
    char buffer[300];
    text_writer out(buffer);
    out.append_padded(0xc0ffeeu, 16, 8).append(' ').append_padded(-42, 10, 6).append(' ').append_padded(12345, 10, 3);
    EXPECT_EQ(out.text(), "00c0ffee -00042 12345");
    out.clear();
    out.append_padded(7, 10, 100);
    EXPECT_EQ(out.text(), std::string(99, '0') + '7');
}

// Every buffer that is too small: the beginning that fits, what was wanted, and not a byte behind the end.
TEST(TextWriter, TruncationIsExact) {
    const auto write = [](text_writer& out) {
        out.append("text ").append(-123456).append(' ').append(0xabcdefu, 16).append(' ').append(1.25).append(' ');
        out.append(1e300, std::chars_format::fixed, 2).append(' ').append_padded(5, 10, 9).append('!');
    };
    char large[1000];
    text_writer whole(large);
    write(whole);
    ASSERT_FALSE(whole.truncated());
    for (std::size_t size = 0; size <= whole.wanted(); ++size) {
        std::string buffer(size + 8, '#');
        text_writer out(buffer.data(), size);
        write(out);
        ASSERT_EQ(out.text(), whole.text().substr(0, size));
        ASSERT_EQ(out.wanted(), whole.wanted());
        ASSERT_EQ(out.truncated(), size < whole.wanted());
        ASSERT_EQ(out.room(), 0u);
        ASSERT_EQ(buffer.substr(size), "########");
    }
    text_writer nowhere(nullptr, 0);
    write(nowhere);
    EXPECT_EQ(nowhere.wanted(), whole.wanted());
}

// glibc rounds exactly, so does std::to_chars; other C libraries do not.
#if defined(__GLIBC__)
TEST(TextWriter, DoublesAreAsPrintfWritesThem) {
    struct {
        std::chars_format form;
        const char* pattern;
    } const forms[] = {{std::chars_format::fixed, "%.*f"}, {std::chars_format::scientific, "%.*e"}, {std::chars_format::general, "%.*g"}};
    char expected[3000], large[3000], small[5];
    for (const double value : {0.0, -0.0, 0.1, 1.5, 2.5, 123456789.123456789, 1e22, 1e308, -1.7976931348623157e308, 5e-324, 2.2250738585072014e-308, HUGE_VAL, -HUGE_VAL})
        for (const auto& form : forms)
            for (const int precision : {0, 1, 3, 17, 100, 767, 1074}) {
                const int length = std::snprintf(expected, sizeof expected, form.pattern, precision, value);
                text_writer out(large), cut(small);
                out.append(value, form.form, precision);
                cut.append(value, form.form, precision);
                ASSERT_EQ(out.text(), expected);
                ASSERT_EQ(cut.wanted(), static_cast<std::size_t>(length));
                ASSERT_EQ(cut.text(), out.text().substr(0, 5));
            }
}
#endif

TEST(TextWriter, PrecisionBeyondWhatADoubleHas) {
    char buffer[3000];
    text_writer out(buffer, 1500), most(buffer + 1500, 1500);
    out.append(0.5, std::chars_format::fixed, 2'000'000'000);
    most.append(0.5, std::chars_format::fixed, 1074);
    EXPECT_EQ(out.text(), most.text());
    out.clear();
    out.append(2.0, std::chars_format::fixed, -1);
    EXPECT_EQ(out.text(), "2");
}

TEST(TextWriter, NothingIsAllocated) {
    char large[3000], small[7];
    const std::string text(100, 'x');
    memtoll::expect_no_allocations scope;
    for (text_writer out : {text_writer(large), text_writer(small)}) {
        out.append(text).append(1).append(1e308).append(5e-324, std::chars_format::fixed, 1074).append(1.0f);
        out.append(1e308, std::chars_format::general, 700).append_padded(-1, 2, 100);
    }
    const auto result = scope.end();
    EXPECT_TRUE(result) << result.what();
}

} // namespace
