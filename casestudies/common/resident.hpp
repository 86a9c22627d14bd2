// The part of the resident set that belongs to the process alone: its heap, stacks and data, without the pages of files
// such as the program's code.
#pragma once

#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

// In KiB. Exact, unlike the numbers in /proc/self/status, which the kernel adds up now and then. Allocates nothing. 0 if
// the kernel does not tell.
inline long resident_kib() {
    char text[2048] = {};
    const int file = open("/proc/self/smaps_rollup", O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    const bool is_read = read(file, text, sizeof text - 1) > 0;
    close(file);
    constexpr char kLine[] = "\nAnonymous:";
    const char* const found = is_read ? std::strstr(text, kLine) : nullptr;
    return found ? std::atol(found + sizeof kLine - 1) : 0;
}
