// What a process says last.
#pragma once

namespace memtoll {

// Have it said when the program calls exit() or returns from main().
void expect_end();

} // namespace memtoll
