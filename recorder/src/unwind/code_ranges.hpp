// Which addresses without unwinding information can be code at all: those in executable mappings.
#pragma once

#include "../process_maps.hpp"

namespace memtoll::unwind {

class CodeRanges {
public:
    // Whether no code can stand at `address`. False where the kernel does not say. Only code is remembered: what is data now
    // may be made code later, and code that is gone is not met any more.
    bool is_data(uintptr_t address) {
        for (const process_maps::Mapping& range : code_)
            if (range.holds(address)) return false;
        return ask(address);
    }

    void forget() {
        for (process_maps::Mapping& range : code_) range.end = 0;
    }

private:
    bool ask(uintptr_t address);

    static constexpr unsigned kRanges = 16;
    process_maps::Mapping code_[kRanges];
    unsigned next_ = 0; // to be replaced
};

} // namespace memtoll::unwind
