// What is serialised: pages of objects, as a level editor or a layout program has them.
#pragma once

#include <cstdint>
#include <vector>

struct Object {
    std::uint32_t id;
    std::uint32_t flags;
    const char* kind;
    double x, y, z;
};

using Page = std::vector<Object>;

// The same pages each time.
std::vector<Page> make_pages(unsigned pages, unsigned objects_a_page);
