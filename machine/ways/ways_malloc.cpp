// Memory from malloc.
#include "ways.hpp"

#include <cstdlib>

namespace memtoll::machine {

const char* keep(Memory&) { return nullptr; }

const char* take_malloc(Memory& memory) {
    memory.start = static_cast<char*>(std::malloc(memory.bytes));
    return memory.start == nullptr ? "malloc" : nullptr;
}

const char* give_malloc(Memory& memory) {
    std::free(memory.start);
    memory.start = nullptr;
    return nullptr;
}

const char* take_malloc_blocks(Memory& memory) {
    memory.in_blocks = true;
    for (size_t i = 0; i < memory.bytes / kBlock; ++i) {
        memory.blocks[i] = static_cast<char*>(std::malloc(kBlock - kHeader));
        if (memory.blocks[i] == nullptr)
            return "malloc";
    }
    return nullptr;
}

const char* give_malloc_blocks(Memory& memory) {
    for (size_t i = 0; i < memory.bytes / kBlock; ++i)
        std::free(memory.blocks[i]);
    return nullptr;
}

} // namespace memtoll::machine
