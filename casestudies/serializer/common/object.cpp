#include "object.hpp"

std::vector<Page> make_pages(unsigned pages, unsigned objects_a_page) {
    static constexpr const char* kKinds[] = {"tree", "rock", "house", "fence", "lantern", "road", "bridge", "river"};
    std::uint64_t state = 1;
    auto random = [&] { // Knuth's MMIX generator; the high bits are the good ones
        state = state * 6364136223846793005u + 1442695040888963407u;
        return static_cast<std::uint32_t>(state >> 32);
    };
    auto coordinate = [&] { return (static_cast<double>(random()) - 2147483648.0) / 65536.0; }; // ±32,768
    std::vector<Page> result(pages);
    std::uint32_t id = 0;
    for (Page& page : result) {
        page.reserve(objects_a_page);
        for (unsigned i = 0; i < objects_a_page; ++i) {
            const std::uint32_t flags = random();
            const char* kind = kKinds[random() % std::size(kKinds)];
            const double x = coordinate(), y = coordinate(), z = coordinate();
            page.push_back({id++, flags, kind, x, y, z});
        }
    }
    return result;
}
