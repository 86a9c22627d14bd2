// A chain of functions that are all inlined into one.
#include "e2e.h"
#include <vector>

struct Cell {
    int value = 0;
};

class Line {
public:
    explicit Line(std::size_t width) : _cells(width) {}
    const Cell* cells() const { return _cells.data(); }

private:
    std::vector<Cell> _cells;
};

class Page {
public:
    Page() : _title(10), _body(80) {}
    void use() const {
        keep(const_cast<Cell*>(_title.cells()));
        keep(const_cast<Cell*>(_body.cells()));
    }

private:
    Line _title, _body;
};

SITE static void print_page() {
    Page page;
    page.use();
}

int main() {
    for (int i = 0; i < 100; ++i) print_page();
}
