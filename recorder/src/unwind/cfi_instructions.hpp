// Runs the instructions of call frame information (DWARF 5 section 6.4.2). Inside unwind/ only.
#pragma once

#include "cfi_scratch.hpp"

namespace memtoll::unwind {

// Runs instructions on scratch.row up to `address`. `location` is the first address that the instructions apply to.
bool run(Reader code, const Cie& cie, uintptr_t location, uintptr_t address, uintptr_t data_base, CfiScratch& scratch);

} // namespace memtoll::unwind
