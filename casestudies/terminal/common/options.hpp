// What the command line asks for.
#pragma once

#include <cstdint>

struct Options {
    std::uint16_t columns = 120;
    const char* file = nullptr; // standard input without one
};

// Prints what is wrong, or the help, and exits.
Options parse_options(int argc, char** argv);
