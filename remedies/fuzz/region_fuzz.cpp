// Entry of libFuzzer, which watches what code an input reaches: make fuzz-remedies.
#include "region_model.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    memtoll::fuzz::run_region(bytes, size);
    return 0;
}
