#include "touch.hpp"

#include "../common/clock.hpp"

#include <cstring>

namespace memtoll::machine {

namespace {

char* address(const Memory& memory, size_t offset) {
    return memory.in_blocks ? memory.blocks[offset / kBlock] + offset % kBlock : memory.start + offset;
}

// Writes every byte from an offset to another, both multiples of kBlock.
void fill(const Memory& memory, size_t from, size_t to, char value) {
    if (!memory.in_blocks) {
        std::memset(memory.start + from, value, to - from);
        return;
    }
    for (size_t i = from / kBlock; i < to / kBlock; ++i)
        std::memset(memory.blocks[i], value, kBlock - kHeader);
}

void fill_page(const Memory& memory, size_t offset, char value) {
    const bool last_of_block = memory.in_blocks && (offset + kPage) % kBlock == 0;
    std::memset(address(memory, offset), value, last_of_block ? kPage - kHeader : kPage);
}

void write_byte(const Memory& memory, size_t offset, char value) {
    *static_cast<volatile char*>(address(memory, offset)) = value;
}

} // namespace

void touch(const Memory& memory, Touch how, char value, double stamp_ns, Latencies& latencies) {
    const bool whole = how == Touch::kWhole;
    const size_t step = whole ? kPage : kBlock;
    size_t timed = memory.bytes / (whole ? 16 : 8);
    if (timed > Latencies::kMost * step)
        timed = Latencies::kMost * step;
    const size_t begin = (memory.bytes - timed) / kBlock * kBlock;
    if (whole)
        fill(memory, 0, begin, value);
    else
        for (size_t offset = 0; offset < begin; offset += kBlock)
            write_byte(memory, offset, value);

    const auto write = whole ? fill_page : write_byte;
    latencies.count = 0;
    for (size_t offset = begin; offset < memory.bytes; offset += step) {
        const double before = wall_ns();
        write(memory, offset, value);
        const double span = wall_ns() - before - stamp_ns;
        if (latencies.count < Latencies::kMost)
            latencies.ns[latencies.count++] = static_cast<float>(span > 0 ? span : 0);
    }
}

} // namespace memtoll::machine
