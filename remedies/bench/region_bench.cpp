// What growing without moving saves, and what giving memory back by name costs.
#include <memtoll/region.hpp>
#include <memtoll/reserved_vector.hpp>

#include <benchmark/benchmark.h>

#include <cstring>
#include <deque>
#include <vector>

namespace {

constexpr std::size_t kBytes = std::size_t{64} << 20;

struct point {
    double x, y, z, w;
};
constexpr std::size_t kPoints = kBytes / sizeof(point);

// 64 MiB of points, one by one, and destroyed.
template <class Points> void grow(benchmark::State& state) {
    for (auto _ : state) {
        Points points;
        for (std::size_t i = 0; i < kPoints; ++i)
            points.push_back({static_cast<double>(i), 0, 0, 0});
        benchmark::ClobberMemory();
    }
}

// As large as it may ever be, whatever it comes to hold.
struct reserved_points : memtoll::reserved_vector<point> {
    reserved_points() : reserved_vector(16 * kPoints) {}
};
struct reserved_points_in_huge_pages : memtoll::reserved_vector<point> {
    reserved_points_in_huge_pages() : reserved_vector(16 * kPoints, memtoll::pages::huge) {}
};

// 64 MiB for every frame: taken, filled, given back.
struct fresh_memory {
    void* take() { return data = ::operator new(kBytes); }
    void give_back() { ::operator delete(data); }
    void* data;
};
template <memtoll::purge how, memtoll::pages kind = memtoll::pages::normal> struct kept_region {
    void* take() {
        range.commit(0, kBytes);
        return range.data();
    }
    void give_back() { range.give_back(0, kBytes, how); }
    memtoll::region range{kBytes, kind};
};
using purge_now = kept_region<memtoll::purge::now>;
using purge_now_huge = kept_region<memtoll::purge::now, memtoll::pages::huge>;
using purge_lazy = kept_region<memtoll::purge::lazy>;
using purge_keep = kept_region<memtoll::purge::keep>;

template <class Memory> void frame(benchmark::State& state) {
    Memory memory;
    for (auto _ : state) {
        std::memset(memory.take(), 1, kBytes);
        memory.give_back();
    }
}

#define IN_MILLISECONDS(NAME) BENCHMARK(NAME)->Unit(benchmark::kMillisecond)
IN_MILLISECONDS(grow<std::deque<point>>);
IN_MILLISECONDS(grow<std::vector<point>>);
IN_MILLISECONDS(grow<reserved_points_in_huge_pages>);
IN_MILLISECONDS(grow<reserved_points>);

IN_MILLISECONDS(frame<fresh_memory>);
IN_MILLISECONDS(frame<purge_now>);
IN_MILLISECONDS(frame<purge_now_huge>);
IN_MILLISECONDS(frame<purge_lazy>);
IN_MILLISECONDS(frame<purge_keep>);

} // namespace
