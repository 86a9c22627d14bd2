// A terminal's text buffer, 9,001 rows of 120 cells with one run of attributes each, made in three ways: rows that own a
// vector of cells and one of runs; the same with boost's small_vector, both sizes inline; and memtoll::rows.
#include <memtoll/rows.hpp>

#include <benchmark/benchmark.h>
#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

constexpr std::size_t kHeight = 9001, kWidth = 120, kWindow = 30;

struct cell {
    char16_t character;
    std::uint8_t width;
};
struct run {
    std::uint32_t length, colours, flags;
};
constexpr cell kSpace{u' ', 1};
constexpr run kWhole{kWidth, 7, 0};

template <class Cells, class Runs> class table {
public:
    table() {
        rows_.reserve(kHeight);
        for (std::size_t i = 0; i < kHeight; ++i) rows_.push_back({Cells(kWidth, kSpace), Runs(1, kWhole)});
    }
    cell* cells(std::size_t i) { return rows_[i].cells.data(); }
    const cell* read(std::size_t i) const { return rows_[i].cells.data(); }
    void scroll() {
        std::rotate(rows_.begin(), rows_.begin() + 1, rows_.end());
        rows_.back().cells.assign(kWidth, kSpace);
        rows_.back().runs.assign(1, kWhole);
    }

private:
    struct row {
        Cells cells;
        Runs runs;
    };
    std::vector<row> rows_;
};
using vectors = table<std::vector<cell>, std::vector<run>>;
using small_vectors = table<boost::container::small_vector<cell, kWidth>, boost::container::small_vector<run, 1>>;

class rows {
public:
    cell* cells(std::size_t i) { return rows_[i].data(); }
    const cell* read(std::size_t i) const { return rows_[i].data(); }
    void scroll() {
        rows_.rotate(1);
        rows_[kHeight - 1].make_blank();
    }

private:
    memtoll::rows<cell, run> rows_{kHeight, kWidth, kSpace, {kWhole}};
};

template <class Table> void write(Table& table, std::size_t height) {
    for (std::size_t i = 0; i < height; ++i) {
        cell* const cells = table.cells(i);
        for (std::size_t column = 0; column < 40; ++column) cells[column].character = u'x';
    }
    benchmark::ClobberMemory();
}

// Make the table, write to as many rows as a window shows or to all, and destroy it.
template <class Table> void make_and_write(benchmark::State& state) {
    for (auto _ : state) {
        Table table;
        write(table, static_cast<std::size_t>(state.range(0)));
    }
}

template <class Table> void scroll(benchmark::State& state) {
    Table table;
    write(table, kHeight);
    for (auto _ : state) {
        table.scroll();
        benchmark::ClobberMemory();
    }
}

template <class Table> void scan(benchmark::State& state) {
    Table table;
    write(table, kHeight);
    for (auto _ : state) {
        unsigned sum = 0;
        for (std::size_t i = 0; i < kHeight; ++i) {
            const cell* const cells = table.read(i);
            for (std::size_t column = 0; column < kWidth; ++column) sum += cells[column].character;
        }
        benchmark::DoNotOptimize(sum);
    }
}

BENCHMARK(make_and_write<vectors>)->Arg(kWindow)->Arg(kHeight);
BENCHMARK(make_and_write<small_vectors>)->Arg(kWindow)->Arg(kHeight);
BENCHMARK(make_and_write<rows>)->Arg(kWindow)->Arg(kHeight);
BENCHMARK(scroll<vectors>);
BENCHMARK(scroll<small_vectors>);
BENCHMARK(scroll<rows>);
BENCHMARK(scan<vectors>);
BENCHMARK(scan<small_vectors>);
BENCHMARK(scan<rows>);

} // namespace
