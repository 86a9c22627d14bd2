// Where a text buffer keeps its rows: in one range of reserved addresses, with memory for those that were used.
//
//     blank row, row 0, row 1 ... the row used last | committed ahead | only reserved
//
// Rows that were not used yet read as the blank one.
#pragma once

#include "row.hpp"

#include <algorithm>
#include <memory>
#include <memtoll/region.hpp>

class Rows {
public:
    Rows(std::uint16_t height, std::uint16_t width, TextAttribute attribute)
        : _height(height), _width(width), _attribute(attribute), _stride(stride_of(width)),
          _range((_height + 1) * _stride) {
        make_places(1);
    }
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;
    ~Rows() {
        for (std::size_t place = 0; place < _made; ++place) std::destroy_at(at(place));
    }

    std::size_t size() const { return _height; }

    ROW& operator[](std::size_t i) {
        if (i + 1 >= _made) make_places(i + 2);
        return *at(i + 1);
    }
    const ROW& operator[](std::size_t i) const { return *at(i + 1 < _made ? i + 1 : 0); }

private:
    static constexpr std::size_t kCommittedAhead = 128; // rows; saves system calls

    static std::size_t stride_of(std::size_t width) {
        const std::size_t bytes = sizeof(ROW) + width * sizeof(CharRowCell);
        return (bytes + alignof(ROW) - 1) / alignof(ROW) * alignof(ROW);
    }

    ROW* at(std::size_t place) const { return reinterpret_cast<ROW*>(_range.data() + place * _stride); }

    void make_places(std::size_t count) {
        if (count > _committed) {
            const std::size_t committed = std::min(count + kCommittedAhead, _height + 1);
            _range.commit(_committed * _stride, (committed - _committed) * _stride);
            _committed = committed;
        }
        for (; _made < count; ++_made) new (at(_made)) ROW(static_cast<std::uint16_t>(_made), _width, _attribute);
    }

    std::size_t _height;
    std::uint16_t _width;
    TextAttribute _attribute;
    std::size_t _stride;
    memtoll::region _range;
    std::size_t _made = 0;      // places with a row, from the first on
    std::size_t _committed = 0; // places with memory; _made <= _committed <= _height + 1
};

inline Rows make_rows(std::uint16_t height, std::uint16_t width, TextAttribute attribute) {
    return Rows(height, width, attribute);
}
