// The entries of .eh_frame (LSB 5.0 section 10.6.1), and the table that finds them. Inside unwind/ only.
#pragma once

#include "cfi_bytes.hpp"

namespace memtoll::unwind {

// A CIE (common information entry): what several FDEs have in common.
struct Cie {
    uint64_t code_align = 1;
    int64_t data_align = 1;
    uint64_t return_register = arch::kReturnAddress;
    uint8_t pointer_encoding = kAbsolute;
    bool has_augmentation = false;
    bool signal_frame = false;
    Reader instructions{0, {}};
};

// An FDE (frame description entry): the call frame information of one function.
struct Fde {
    uintptr_t start = 0; // the function's first address
    Reader instructions{0, {}};
};

// The FDE that covers `address`, with its CIE in scratch.cie. False when there is none, or it is damaged.
bool find_fde(const CfiSections& sections, uintptr_t address, CfiScratch& scratch, Fde& fde);

// The same with a search of .eh_frame from `eh_frame` on, entry by entry.
bool find_fde_linear(const CfiSections& sections, uintptr_t eh_frame, uintptr_t address, CfiScratch& scratch, Fde& fde);

} // namespace memtoll::unwind
