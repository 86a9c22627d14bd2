// The end of the heap ("program break"), which glibc's allocator moves inside of malloc and free without passing through
// any hook. Who moved it is found out by looking at it after calls that took long enough to have done so.
//
// Another thread's call may notice it first, if both were slow at the same time; each move is told once.
#pragma once

#include <cstdint>

namespace memtoll {

// Once, before the first event.
void start_program_break();

// Whether the break has moved since it was last looked at, and between what.
bool break_moved(uintptr_t& from, uintptr_t& to);

// Where it was at first, and where glibc believes it to be; 0: not known.
uintptr_t first_break();
uintptr_t known_break();

// The program has moved it itself, by brk or sbrk, which are events of their own.
inline void expect_break_where_it_is() {
    uintptr_t from, to;
    break_moved(from, to);
}

} // namespace memtoll
