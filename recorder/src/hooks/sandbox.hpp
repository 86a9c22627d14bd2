// Programs that forbid themselves system calls, by a filter (seccomp).
#pragma once

namespace memtoll {

// The program is about to do so. From now on the recorder makes no system call in it; first it takes what it will need.
void be_silent();

} // namespace memtoll
