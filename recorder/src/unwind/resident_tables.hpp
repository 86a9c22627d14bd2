// Which parts of the program's files are in its memory because the recorder reads unwinding tables there. A C program never
// reads them itself, so they belong to the recorder's share of the resident set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memtoll::unwind::tables_read {

// The recorder reads what is at `address`.
void note(uintptr_t address);

// Bytes that came into memory by that: the kernel maps what lies around a page of a file, too.
size_t bytes();

// In a forked child, which has none of them yet.
void forget();

} // namespace memtoll::unwind::tables_read
