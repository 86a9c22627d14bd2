// Jumps are not written while another thread forks: its child would have some of them, and record some calls of an allocator only.
//
// Each waits for the other, a second at most: a child that is recorded in part is better than none.
#pragma once

#include <cstdint>

namespace memtoll {

// While it is there, this thread forks.
class Forking {
public:
    Forking();
    ~Forking();
    Forking(const Forking&) = delete;
    Forking& operator=(const Forking&) = delete;
};

// While it is there, this thread writes jumps. One at a time does (begin_placing).
class WritingJumps {
public:
    WritingJumps();
    ~WritingJumps();
    WritingJumps(const WritingJumps&) = delete;
    WritingJumps& operator=(const WritingJumps&) = delete;
};

} // namespace memtoll
