// Programs that forbid themselves system calls (seccomp) or the processor's clock (prctl).
#pragma once

namespace memtoll {

// The program is about to do so. From now on the recorder makes no system call in it; first it takes what it will need.
void be_silent();

// The program calls prctl with these arguments: what follows from it.
void before_prctl(int option, unsigned long argument);

} // namespace memtoll
