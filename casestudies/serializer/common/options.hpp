// The command line.
#pragma once

#include "writers.hpp"

struct Options {
    Writer writer;
    const char* writer_name;
    unsigned pages = 1024;
    unsigned objects = 1024; // on each page
    unsigned threads = 0;
    unsigned repeat = 1;
};

// Prints what is wrong, or the help, and exits.
Options parse_options(int argc, char** argv);
