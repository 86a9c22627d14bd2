// A table of rows, such as a terminal's text buffer: each row has the same number of cells, and a list of attributes (of
// runs of cells, say) that is nearly always short.
//
//     struct cell { char32_t character; };
//     struct run { std::uint16_t length, colour; };
//     memtoll::rows<cell, run> screen(9001, 120, cell{U' '}, {run{120, 7}});      // one allocation
//
//     screen[0][5].character = U'x';
//     const run split[] = {{5, 7}, {1, 12}, {114, 7}};
//     screen[0].attributes().assign(split, 3);                                    // more than one: to the heap
//     screen.rotate(1);                                                           // scroll by a line
//     screen[screen.height() - 1].make_blank();
//
// As a vector of rows that own vectors, the same table takes two allocations a row, and touches all of its memory before the
// first character is printed. This one takes one allocation, and touches the memory of a row when the row is first written
// to. Memory: height x (width x sizeof(Cell) + 8 + room for the attributes), rounded up for alignment, and one row more, the
// blank one, which stands for all rows that were never written to. It is calloc's: that of a large table comes from the
// system untouched; where calloc recycles memory that was touched before, it zeroes it at once (4 MB: 170 us).
//
// Cells and attributes are trivially copyable. Thread safety: as for standard containers, several threads may read, or one
// may write. Getting a row that may be written to is writing. README.md has the measured gain.
#pragma once

#include <memtoll/detail/inline_list.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <initializer_list>
#include <limits>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace memtoll {

// `InlineAttributes`: how many attributes a row has room for inside the table. A row with more has them in a block of
// their own, from malloc, and keeps it until its attributes are released. Choose it by measuring rows of real input: it is
// paid in every row that was ever written to.
template <class Cell, class Attribute, std::size_t InlineAttributes = 1> class rows {
    static_assert(std::is_trivially_copyable_v<Cell>, "blank rows are copied as bytes");
    static_assert(alignof(Cell) <= alignof(std::max_align_t), "the table is not aligned more strictly");

public:
    // The attributes of a row: a list of at most 2^32 - 1 values.
    //
    //     size(), empty(), capacity(), data(), begin(), end(), []       as std::vector's; O(1), and no index is checked
    //     spilled()                         whether they are in a block of their own
    //     push_back(value)                  amortised O(1)
    //     assign(values, count)             becomes a copy of values that are not its own; O(count)
    //     replace(position, removed, values, count)    takes some out and puts others there, not its own; O(count and
    //                                       what stands behind); std::out_of_range when there is no such position
    //     reserve(count)                    room for `count` elements
    //     clear()                           none, and the block is kept; release() frees it
    //
    // What needs room throws std::bad_alloc, or std::length_error for too many; the list is then as it was.
    using attribute_list = detail::inline_list<Attribute, InlineAttributes>;

    // A row to write to, or with CellType = const Cell, to read. Valid as long as the table, until it is moved, assigned to
    // or cleared; after rotate() it is still the same row, which is now at another index.
    template <class CellType, class List> class basic_row {
    public:
        CellType& operator[](std::size_t column) const noexcept { return cells_[column]; }
        CellType* data() const noexcept { return cells_; }
        CellType* begin() const noexcept { return cells_; }
        CellType* end() const noexcept { return cells_ + width_; }
        std::size_t size() const noexcept { return width_; }
        List& attributes() const noexcept { return *attributes_; }

        // All cells and attributes as in the row that the table was made with; O(width). A block of spilled attributes
        // is kept for the next ones: attributes().release() frees it.
        void make_blank() const noexcept {
            static_assert(!std::is_const_v<CellType>, "this row is for reading");
            std::copy_n(blank_cells_, width_, cells_);
            // Fits, as the blank row's attributes are not spilled.
            attributes_->assign(blank_attributes_->data(), blank_attributes_->size());
        }

    private:
        friend rows;
        basic_row(CellType* cells, List* attributes, std::size_t width, const Cell* blank_cells,
                  const attribute_list* blank_attributes) noexcept
            : cells_(cells), attributes_(attributes), width_(width), blank_cells_(blank_cells),
              blank_attributes_(blank_attributes) {}
        CellType* cells_;
        List* attributes_;
        std::size_t width_;
        const Cell* blank_cells_;
        const attribute_list* blank_attributes_;
    };
    using row = basic_row<Cell, attribute_list>;
    using const_row = basic_row<const Cell, const attribute_list>;

    // A table of blank rows: `width` copies of `cell`, and these attributes, at most InlineAttributes. O(width); rows are
    // not touched yet. Throws std::bad_alloc when there is no memory, std::length_error for sizes that no memory can have
    // or too many attributes.
    rows(std::size_t height, std::size_t width, const Cell& cell = Cell(), std::initializer_list<Attribute> attributes = {})
        : height_(height), width_(width) {
        if (attributes.size() > InlineAttributes)
            throw std::length_error("memtoll::rows: the blank row has more attributes than fit inline");
        memory_ = std::calloc(1, bytes_for(height, width));
        if (!memory_) throw std::bad_alloc();
        std::fill_n(cells_of(height_), width_, cell);
        attribute_list& blank = lists()[height_];
        blank.start();
        blank.assign(attributes.begin(), attributes.size());
    }

    // Moving is O(1); the table that was moved from may be assigned to and destroyed, nothing else.
    rows(rows&& other) noexcept
        : memory_(std::exchange(other.memory_, nullptr)), height_(other.height_), width_(other.width_), first_(other.first_) {}
    rows& operator=(rows&& other) noexcept {
        rows taken(std::move(other));
        std::swap(memory_, taken.memory_);
        std::swap(height_, taken.height_);
        std::swap(width_, taken.width_);
        std::swap(first_, taken.first_);
        return *this;
    }
    // O(height): it looks for spilled attributes.
    ~rows() {
        if (!memory_) return;
        for (std::size_t i = 0; i < height_; ++i)
            if (lists()[i].spilled()) lists()[i].release();
        std::free(memory_);
    }

    std::size_t height() const noexcept { return height_; }
    std::size_t width() const noexcept { return width_; }

    // A row to write to: O(1), the first time O(width). There is no check of the index; see at().
    row operator[](std::size_t index) noexcept {
        const std::size_t place = place_of(index);
        attribute_list& attributes = lists()[place];
        const row found(cells_of(place), &attributes, width_, cells_of(height_), &lists()[height_]);
        if (!attributes.started()) {
            attributes.start();
            found.make_blank();
        }
        return found;
    }

    // A row to read: O(1). One that was never written to is the blank row, and stays untouched.
    const_row operator[](std::size_t index) const noexcept {
        const std::size_t place = place_of(index), read = lists()[place].started() ? place : height_;
        return const_row(cells_of(read), &lists()[read], width_, cells_of(height_), &lists()[height_]);
    }

    // As [], but throws std::out_of_range when there is no such row.
    row at(std::size_t index) { return check(index), (*this)[index]; }
    const_row at(std::size_t index) const { return check(index), (*this)[index]; }

    // The row at `count` becomes the first one, and those before it the last ones, as std::rotate does it. O(1): nothing
    // is moved.
    void rotate(std::size_t count) noexcept {
        if (height_ > 0) first_ = place_of(count % height_);
    }

    // All rows blank, none spilled: O(rows that were written to x width). Memory once touched stays; to give it back, assign
    // a fresh table.
    void clear() noexcept {
        first_ = 0;
        for (std::size_t i = 0; i < height_; ++i) {
            if (!lists()[i].started()) continue;
            lists()[i].release();
            (*this)[i].make_blank();
        }
    }

    // How many rows have their attributes in a block of their own, and how many were written to: O(height).
    std::size_t spilled_rows() const noexcept { return count(&attribute_list::spilled); }
    std::size_t touched_rows() const noexcept { return count(&attribute_list::started); }

    // What the table reserves, in bytes. Spilled attributes come on top.
    std::size_t bytes() const noexcept { return bytes_for(height_, width_); }

private:
    // One allocation:
    //
    //     list of row 0 | ... | list of the last row | list of the blank row | cells of row 0 | ... | cells of the blank row
    //
    // Row `index` is at place (first_ + index) mod height_; the blank row at place height_. The lists lie together, so that
    // looking for the spilled ones touches few pages.
    static std::size_t bytes_for(std::size_t height, std::size_t width) {
        constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max() / 2;
        const bool fits = height < kMost / (2 * sizeof(attribute_list)) &&
                          (width == 0 || height + 1 <= kMost / 2 / sizeof(Cell) / width);
        if (!fits) throw std::length_error("memtoll::rows: a table larger than any memory");
        return cells_offset(height) + (height + 1) * width * sizeof(Cell);
    }
    static std::size_t cells_offset(std::size_t height) noexcept {
        return ((height + 1) * sizeof(attribute_list) + alignof(Cell) - 1) / alignof(Cell) * alignof(Cell);
    }
    attribute_list* lists() const noexcept { return static_cast<attribute_list*>(memory_); }
    Cell* cells_of(std::size_t place) const noexcept {
        return reinterpret_cast<Cell*>(static_cast<unsigned char*>(memory_) + cells_offset(height_)) + place * width_;
    }
    std::size_t place_of(std::size_t index) const noexcept {
        const std::size_t place = first_ + index;
        return place < height_ ? place : place - height_;
    }
    void check(std::size_t index) const {
        if (index >= height_) throw std::out_of_range("memtoll::rows: no such row");
    }
    std::size_t count(bool (attribute_list::*property)() const noexcept) const noexcept {
        std::size_t found = 0;
        for (std::size_t i = 0; i < height_; ++i) found += (lists()[i].*property)();
        return found;
    }

    void* memory_ = nullptr;
    std::size_t height_;
    std::size_t width_;
    std::size_t first_ = 0;
};

} // namespace memtoll
