// Entry of libFuzzer, which watches what code an input reaches: make fuzz-remedies.
#include "string_pool_model.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    memtoll::fuzz::run_string_pool(bytes, size);
    return 0;
}
