// The working memory of a reader of call frame information: kept by the caller, because the target's stack may be small.
#pragma once

#include "cfi_entries.hpp"

namespace memtoll::unwind {

struct CfiScratch {
    static constexpr unsigned kRememberDepth = 8;
    Row row;
    Row remembered[kRememberDepth];

    // The CIE that was read last: nearly all functions of a module have the same.
    uintptr_t cie_at = 0; // 0: none
    Cie cie;
    bool has_initial = false;
    Row initial; // what its instructions make

    // The memory that was read may hold something else from now on.
    void forget() { cie_at = 0; }
};

} // namespace memtoll::unwind
