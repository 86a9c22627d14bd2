// Format strings of {fmt}, to a fixed buffer: never allocates, takes no lock, throws nothing.
//
//     char buffer[64];
//     const auto line = memtoll::format_to(buffer, "{} {} x={:.3f} flags={:08x}\n", id, kind, x, flags);
//     if (line.truncated()) ...;                      // line.wanted() characters were wanted
//     send(line.text());
//
// The result is a text_writer (text_writer.hpp), to which more can be appended, also with memtoll::format.
//
// {fmt} alone does not promise any of that: it allocates for doubles with a precision, for locales, and for the exceptions
// it throws. So here
//   * float and double go through std::to_chars, and take `{}` or `{:[width][.precision][e|f|g]}`;
//   * widths and precisions are written in the string, not given as arguments, and there is no 'L';
//   * arguments are whole numbers, float, double, bool, char, text (a null pointer is "(null)") and pointers to void.
// Anything else does not compile.
//
// Complexity: linear in the text. Thread safety: none is needed, nothing is shared. README.md has the measured gain.
//
// Needs C++20 and {fmt} 8 or later; text_writer.hpp needs neither. Where <fmt/format.h> is found, it is used;
// -D MEMTOLL_FORMAT_WITH_FMT=MEMTOLL_OFF leaves it out. Link with fmt::fmt, or define FMT_HEADER_ONLY.
#pragma once

#include <memtoll/config.hpp>
#include <memtoll/text_writer.hpp>

#ifndef MEMTOLL_FORMAT_WITH_FMT
#if __has_include(<fmt/format.h>) && __cplusplus >= 202002L
#define MEMTOLL_FORMAT_WITH_FMT MEMTOLL_ON
#else
#define MEMTOLL_FORMAT_WITH_FMT MEMTOLL_OFF
#endif
#endif

#if MEMTOLL_USING(MEMTOLL_FORMAT_WITH_FMT)

#include <fmt/format.h>

#include <span>

namespace memtoll {

namespace detail {

// A float or double on its way through {fmt}, which knows how to format this type only.
template <class Real> struct real_argument {
    Real value;
};

template <class> inline constexpr bool cannot_be_formatted = false;

// What {fmt} is given for an argument of type T.
template <class T> constexpr auto argument(const T& value) noexcept {
    using Value = std::decay_t<T>;
    if constexpr (std::is_same_v<Value, float> || std::is_same_v<Value, double>) return real_argument<Value>{value};
    else if constexpr (is_number<Value> || std::is_same_v<Value, bool> || std::is_same_v<Value, char>) return value;
    else if constexpr (std::is_same_v<Value, char*> || std::is_same_v<Value, const char*>) {
        const char* const text = value;
        return text ? std::string_view(text) : std::string_view("(null)");
    } else if constexpr (std::is_convertible_v<Value, const void*>) {
        static_assert(std::is_void_v<std::remove_pointer_t<Value>> || std::is_null_pointer_v<Value>, "cast it to const void*");
        return static_cast<const void*>(value);
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) return std::string_view(value);
    else static_assert(cannot_be_formatted<T>, "not known to be formatted without allocating: whole numbers, float, double, "
                                               "bool, char, text and pointers to void are");
}
template <class T> using argument_type = decltype(argument(std::declval<const T&>()));

// Called where a format string is wrong, at compile time: the compiler shows the call, and this name says what it is.
inline void a_width_or_precision_is_an_argument_or_there_is_a_locale() {}

constexpr bool is_alignment(char character) { return character == '<' || character == '>' || character == '^'; }

// Whether {fmt} would look for a width, a precision or a locale elsewhere.
consteval bool is_self_contained(std::string_view format) {
    bool in_field = false;
    for (std::size_t i = 0; i < format.size(); ++i) {
        const bool doubled = i + 1 < format.size() && format[i + 1] == format[i];
        if (!in_field && (format[i] == '{' || format[i] == '}') && doubled) ++i;
        else if (format[i] == '{') {
            if (in_field) return false;
            in_field = true;
        } else if (in_field && format[i] == ':' && i + 2 < format.size() && is_alignment(format[i + 2])) i += 2; // a fill
        else if (format[i] == '}') in_field = false;
        else if (in_field && format[i] == 'L') return false;
    }
    return true;
}

// A format string that was checked by {fmt} and by us when it was compiled.
template <class... Arguments> class format_text {
public:
    template <class Text>
        requires std::is_convertible_v<const Text&, std::string_view>
    consteval format_text(const Text& text) : checked_(text) {
        if (!is_self_contained(text)) a_width_or_precision_is_an_argument_or_there_is_a_locale();
    }
    fmt::format_string<Arguments...> get() const noexcept { return checked_; }

private:
    fmt::format_string<Arguments...> checked_;
};

} // namespace detail

// Appends to a writer.
template <class... Arguments>
text_writer& format(text_writer& out, std::type_identity_t<detail::format_text<detail::argument_type<Arguments>...>> text,
                    const Arguments&... arguments) noexcept {
    const auto result = fmt::format_to_n(out.position(), out.room(), text.get(), detail::argument(arguments)...);
    out.advance(static_cast<std::size_t>(result.size));
    return out;
}

// Writes to a buffer. The result refers to it.
template <class... Arguments>
[[nodiscard]] text_writer format_to(std::span<char> buffer,
                                    std::type_identity_t<detail::format_text<detail::argument_type<Arguments>...>> text,
                                    const Arguments&... arguments) noexcept {
    text_writer out(buffer.data(), buffer.size());
    return format(out, text, arguments...);
}

} // namespace memtoll

// {:[width][.precision][e|f|g]}, on the right of its width, as numbers are.
template <class Real> class fmt::formatter<memtoll::detail::real_argument<Real>> {
public:
    constexpr auto parse(fmt::format_parse_context& context) {
        const char* at = context.begin();
        const char* const end = context.end();
        const auto number = [&](int most) {
            int value = 0;
            for (; at != end && *at >= '0' && *at <= '9'; ++at)
                if ((value = value * 10 + (*at - '0')) > most) throw fmt::format_error("too large");
            return value;
        };
        width_ = number(10'000);
        if (at != end && *at == '.') {
            ++at;
            precision_ = number(memtoll::detail::kMostPrecision);
            form_ = std::chars_format::general;
        }
        if (at != end && (*at == 'e' || *at == 'f' || *at == 'g')) {
            form_ = *at == 'e'   ? std::chars_format::scientific
                    : *at == 'f' ? std::chars_format::fixed
                                 : std::chars_format::general;
            if (precision_ < 0) precision_ = 6;
            ++at;
        }
        if (at != end && *at != '}') throw fmt::format_error("a float or double takes {:[width][.precision][e|f|g]}");
        return at;
    }

    template <class Context> auto format(const memtoll::detail::real_argument<Real>& argument, Context& context) const {
        memtoll::detail::real_text space;
        const std::string_view text =
            precision_ < 0 ? space.of(argument.value) : space.of(argument.value, form_, precision_);
        auto out = context.out();
        for (std::size_t i = text.size(); i < static_cast<std::size_t>(width_); ++i) *out++ = ' ';
        return std::copy(text.begin(), text.end(), out);
    }

private:
    int width_ = 0;
    int precision_ = -1; // none: the shortest text that reads back as the same
    std::chars_format form_ = std::chars_format::general;
};

#endif
