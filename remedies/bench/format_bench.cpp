// A line of text with a number, a word, three doubles and a number in hexadecimal, to a fixed buffer, in all ways.
#include <memtoll/format.hpp>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iomanip>
#include <iterator>
#include <sstream>
#include <string>

namespace {

struct object {
    std::uint32_t id, flags;
    const char* kind;
    double x, y, z;
};
constexpr object kObjects[] = {{17, 0xc0ffee, "house", -1022.375, 8.25, 31999.001},
                               {123456, 0xffffffff, "lantern", 0.015625, -32767.9, 12.0},
                               {4000000000, 7, "tree", 1.0 / 3, 20000.0 / 7, -5e-5}};

using writer = std::size_t (*)(const object&, char* buffer, std::size_t size);

std::size_t with_text_writer(const object& o, char* buffer, std::size_t size) {
    memtoll::text_writer out(buffer, size);
    const auto coordinate = [&](std::string_view name, double value) {
        out.append(name).append(value, std::chars_format::fixed, 3);
    };
    out.append(o.id).append(' ').append(o.kind);
    coordinate(" x=", o.x);
    coordinate(" y=", o.y);
    coordinate(" z=", o.z);
    return out.append(" flags=").append_padded(o.flags, 16, 8).append('\n').wanted();
}

std::size_t with_format_to(const object& o, char* buffer, std::size_t size) {
    return memtoll::format_to({buffer, size}, "{} {} x={:.3f} y={:.3f} z={:.3f} flags={:08x}\n", o.id, o.kind, o.x, o.y, o.z, o.flags)
        .wanted();
}

std::size_t with_fmt_format_to_n(const object& o, char* buffer, std::size_t size) {
    return fmt::format_to_n(buffer, size, "{} {} x={:.3f} y={:.3f} z={:.3f} flags={:08x}\n", o.id, o.kind, o.x, o.y, o.z, o.flags).size;
}

std::size_t with_snprintf(const object& o, char* buffer, std::size_t size) {
    return static_cast<std::size_t>(
        std::snprintf(buffer, size, "%u %s x=%.3f y=%.3f z=%.3f flags=%08x\n", o.id, o.kind, o.x, o.y, o.z, o.flags));
}

std::size_t with_asprintf(const object& o, char* buffer, std::size_t size) {
    char* text;
    const int length = asprintf(&text, "%u %s x=%.3f y=%.3f z=%.3f flags=%08x\n", o.id, o.kind, o.x, o.y, o.z, o.flags);
    if (length < 0) std::abort();
    std::memcpy(buffer, text, std::min(size, static_cast<std::size_t>(length)));
    std::free(text);
    return static_cast<std::size_t>(length);
}

std::size_t with_ostringstream(const object& o, char* buffer, std::size_t size) {
    std::ostringstream stream;
    stream << o.id << ' ' << o.kind << std::fixed << std::setprecision(3) << " x=" << o.x << " y=" << o.y << " z=" << o.z
           << " flags=" << std::hex << std::setfill('0') << std::setw(8) << o.flags << '\n';
    const std::string text = stream.str();
    std::memcpy(buffer, text.data(), std::min(size, text.size()));
    return text.size();
}

template <writer write> void line(benchmark::State& state) {
    char buffer[128], expected[128];
    for (const object& o : kObjects) {
        const std::size_t length = write(o, buffer, sizeof buffer);
        if (length != with_snprintf(o, expected, sizeof expected) || std::memcmp(buffer, expected, length) != 0)
            state.SkipWithError("the text is another one");
    }
    std::size_t i = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(write(kObjects[i], buffer, sizeof buffer));
        benchmark::ClobberMemory();
        if (++i == std::size(kObjects)) i = 0;
    }
}

BENCHMARK(line<with_ostringstream>);
BENCHMARK(line<with_asprintf>);
BENCHMARK(line<with_snprintf>);
BENCHMARK(line<with_fmt_format_to_n>);
BENCHMARK(line<with_format_to>);
BENCHMARK(line<with_text_writer>);

} // namespace
