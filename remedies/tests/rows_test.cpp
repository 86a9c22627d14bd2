#include <memtoll/expect.hpp>
#include <memtoll/rows.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

namespace {

struct cell {
    char32_t character;
    bool operator==(const cell&) const = default;
};
struct run {
    std::uint16_t length, colour;
    bool operator==(const run&) const = default;
};
using screen = memtoll::rows<cell, run>;

constexpr cell kSpace{U' '};
constexpr run kWhole{120, 7};

screen make_screen(std::size_t height = 50) { return screen(height, 120, kSpace, {kWhole}); }

template <class List> std::vector<run> runs(const List& list) { return {list.begin(), list.end()}; }

TEST(Rows, ReadingABlankRowDoesNotTouchIt) {
    const screen table = make_screen();
    EXPECT_EQ(table.height(), 50u);
    EXPECT_EQ(table.width(), 120u);
    for (std::size_t i = 0; i < 50; ++i) {
        EXPECT_EQ(std::vector<cell>(table[i].begin(), table[i].end()), std::vector<cell>(120, kSpace));
        EXPECT_EQ(runs(table[i].attributes()), std::vector<run>{kWhole});
    }
    EXPECT_EQ(table.touched_rows(), 0u);
}

TEST(Rows, WritingTouchesThatRowOnly) {
    screen table = make_screen();
    table[7][119].character = U'x';
    EXPECT_EQ(table.touched_rows(), 1u);
    const screen& read = table;
    EXPECT_EQ(read[7][119].character, U'x');
    EXPECT_EQ(read[7][118], kSpace);
    EXPECT_EQ(runs(read[7].attributes()), std::vector<run>{kWhole});
    EXPECT_EQ(read[8][0], kSpace);
}

TEST(Rows, CellsOfARowAreContiguousAndThoseOfTheNextFollow) {
    screen table = make_screen();
    EXPECT_EQ(table[3].size(), 120u);
    EXPECT_EQ(table[3].end() - table[3].begin(), 120);
    EXPECT_EQ(table[4].data() - table[3].data(), 120);
    EXPECT_EQ(table.bytes(), 51 * (16 + 120 * sizeof(cell)));
}

TEST(Rows, MoreAttributesThanFitInlineSpillAndBlankKeepsTheirBlock) {
    screen table = make_screen();
    auto attributes = [&]() -> auto& { return table[2].attributes(); };
    EXPECT_FALSE(attributes().spilled());
    const run split[] = {{5, 7}, {1, 12}, {114, 7}};
    attributes().assign(split, 3);
    EXPECT_TRUE(attributes().spilled());
    EXPECT_EQ(table.spilled_rows(), 1u);
    EXPECT_EQ(runs(attributes()), std::vector<run>(split, split + 3));
    EXPECT_EQ(runs(table[1].attributes()), std::vector<run>{kWhole});

    const std::size_t capacity = attributes().capacity();
    table[2].make_blank();
    EXPECT_EQ(runs(attributes()), std::vector<run>{kWhole});
    EXPECT_EQ(attributes().capacity(), capacity);
    attributes().release();
    EXPECT_TRUE(attributes().empty());
    EXPECT_FALSE(attributes().spilled());
}

TEST(Rows, AppendedAttributesGrowInSteps) {
    screen table = make_screen();
    auto& attributes = table[0].attributes();
    attributes.clear();
    std::size_t growths = 0;
    for (std::uint16_t i = 0; i < 1000; ++i) {
        const std::size_t before = attributes.capacity();
        attributes.push_back({i, i});
        growths += attributes.capacity() != before;
    }
    EXPECT_EQ(growths, 10u) << "1 to 1,024 by doubling";
    for (std::uint16_t i = 0; i < 1000; ++i) EXPECT_EQ(attributes[i], (run{i, i}));
    attributes.push_back(attributes[999]); // a value of the list itself
    EXPECT_EQ(attributes[1000], attributes[999]);
}

TEST(Rows, RotationMovesNothing) {
    screen table = make_screen(5);
    for (char32_t i = 0; i < 5; ++i) table[i][0].character = U'0' + i;
    const cell* const first = table[0].data();
    table.rotate(2);
    EXPECT_EQ(table[3].data(), first);
    const char32_t expected[] = U"23401";
    for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(table[i][0].character, expected[i]);
    table.rotate(4);
    table.rotate(4);
    table.rotate(5);
    EXPECT_EQ(table[0].data(), first);
}

TEST(Rows, ClearMakesAllRowsBlank) {
    screen table = make_screen(5);
    for (std::size_t i = 0; i < 4; ++i) {
        table[i][i].character = U'x';
        table[i].attributes().push_back({1, 1});
    }
    table.rotate(3);
    table.clear();
    EXPECT_EQ(table.spilled_rows(), 0u);
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(std::vector<cell>(table[i].begin(), table[i].end()), std::vector<cell>(120, kSpace));
        EXPECT_EQ(runs(table[i].attributes()), std::vector<run>{kWhole});
    }
}

TEST(Rows, MovedTablesKeepTheirRows) {
    screen table = make_screen(5);
    table[1][0].character = U'x';
    table[1].attributes().push_back({1, 1});
    const cell* const data = table[1].data();
    screen other = std::move(table);
    EXPECT_EQ(other[1].data(), data);
    table = make_screen(3);
    EXPECT_EQ(table.height(), 3u);
    other = std::move(table);
    EXPECT_EQ(other.height(), 3u);
    EXPECT_EQ(other.spilled_rows(), 0u);
}

TEST(Rows, TablesWithoutRowsOrCells) {
    screen none(0, 120, kSpace, {kWhole});
    none.rotate(3);
    EXPECT_THROW(none.at(0), std::out_of_range);
    screen narrow(3, 0, kSpace, {kWhole});
    narrow[2].attributes().push_back({1, 1});
    EXPECT_EQ(narrow[2].size(), 0u);
    EXPECT_EQ(narrow.spilled_rows(), 1u);
}

TEST(Rows, PositionsThatDoNotExistAreRefused) {
    screen table = make_screen(5);
    const screen& read = table;
    EXPECT_THROW(table.at(5), std::out_of_range);
    EXPECT_THROW(read.at(5), std::out_of_range);
    EXPECT_EQ(read.at(4)[0], kSpace);
    auto& attributes = table[0].attributes();
    EXPECT_THROW(attributes.replace(2, 0, &kWhole, 1), std::out_of_range);
    EXPECT_THROW(attributes.replace(1, 1, &kWhole, 1), std::out_of_range);
    EXPECT_THROW((screen(5, 120, kSpace, {kWhole, kWhole})), std::length_error);
}

// Large attributes: with few of them the sizes are reached that no machine has, 2^47 bytes.
struct large {
    unsigned char bytes[1 << 16];
};

TEST(Rows, OutOfMemoryLeavesTheAttributesAsTheyWere) {
    memtoll::rows<cell, large> table(2, 10);
    auto& attributes = table[0].attributes();
    attributes.push_back({{42}});
    for (int spilled = 0; spilled < 2; ++spilled) {
        EXPECT_THROW(attributes.reserve(std::size_t{1} << 31), std::bad_alloc);
        EXPECT_THROW(attributes.reserve(std::size_t{1} << 40), std::length_error);
        EXPECT_THROW(attributes.replace(0, 0, nullptr, std::size_t{1} << 40), std::length_error);
        EXPECT_EQ(attributes.size(), 1u);
        EXPECT_EQ(attributes[0].bytes[0], 42);
        attributes.reserve(2);
        EXPECT_TRUE(attributes.spilled());
    }
}

#if !defined(_WIN32) // where malloc is not counted
TEST(Rows, ATableIsOneAllocationAndEachSpilledRowAnother) {
    memtoll::expect_at_most scope(2);
    screen table = make_screen();
    for (std::size_t i = 0; i < 50; ++i) table[i][3].character = U'x';
    table[7].attributes().push_back({1, 1});
    table.rotate(9);
    table.clear();
    const auto result = scope.end();
    EXPECT_TRUE(result) << result.what();
    EXPECT_EQ(result.allocations, 2u);
}
#endif

TEST(Rows, TablesLargerThanMemoryAreRefused) {
    constexpr std::size_t kHuge = std::size_t{1} << 63;
    EXPECT_THROW(screen(std::size_t{1} << 24, std::size_t{1} << 24), std::bad_alloc);
    EXPECT_THROW(screen(kHuge, 1), std::length_error);
    EXPECT_THROW(screen(1, kHuge), std::length_error);
    EXPECT_THROW(screen(~std::size_t{0}, 0), std::length_error);
    EXPECT_THROW(screen(std::size_t{1} << 32, std::size_t{1} << 32), std::length_error);
}

// The list against a vector that does the same.
TEST(Rows, AttributesBehaveAsAVectorOfThem) {
    memtoll::rows<cell, run, 3> table(1, 1);
    auto& list = table[0].attributes();
    std::vector<run> model;
    std::mt19937 random(1);
    const auto below = [&](std::size_t bound) { return random() % bound; };
    for (int step = 0; step < 20'000; ++step) {
        std::vector<run> values(below(5));
        for (run& value : values) value = {static_cast<std::uint16_t>(random()), static_cast<std::uint16_t>(step)};
        const std::size_t position = below(model.size() + 1), removed = below(std::min<std::size_t>(model.size() - position, 6) + 1);
        switch (below(20)) {
        case 0: list.clear(), model.clear(); break;
        case 1: list.release(), model.clear(); break;
        case 2: list.assign(values.data(), values.size()), model = values; break;
        case 3: list.push_back(kWhole), model.push_back(kWhole); break;
        default:
            list.replace(position, removed, values.data(), values.size());
            const auto at = model.erase(model.begin() + static_cast<std::ptrdiff_t>(position),
                                        model.begin() + static_cast<std::ptrdiff_t>(position + removed));
            model.insert(at, values.begin(), values.end());
        }
        ASSERT_EQ(runs(list), model) << "step " << step;
        ASSERT_EQ(list.spilled(), list.capacity() > 3);
    }
}

} // namespace
