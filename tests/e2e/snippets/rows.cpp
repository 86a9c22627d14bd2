// standards: 17 20
#include <memtoll/rows.hpp>
#include <cstdint>
struct cell { char32_t character; };
struct run { std::uint16_t length, colour; };
void use(const run* runs) {
    @remedies/README.md: memtoll::rows<cell, run> screen(
}
