// Jumps are not written while another thread forks: its child would have some of them, and record some calls of an allocator only.
//
// Each waits for the other, a second at most: a child that is recorded in part is better than none.
#pragma once

namespace memtoll {

// While it is there, the calling thread forks, or writes jumps. One thread at a time writes (begin_placing).
class ForkOrJumps {
public:
    enum Work { kForks, kWritesJumps };

    explicit ForkOrJumps(Work work);
    ~ForkOrJumps();
    ForkOrJumps(const ForkOrJumps&) = delete;
    ForkOrJumps& operator=(const ForkOrJumps&) = delete;

private:
    const Work work_;
};

} // namespace memtoll
