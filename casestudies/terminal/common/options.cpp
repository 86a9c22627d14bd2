#include "options.hpp"

#include <cstdio>
#include <cstdlib>
#include <getopt.h>

namespace {

constexpr char kHelp[] = "A console host without its window: terminal [--columns N] [FILE]\n"
                         "  --columns N    how wide it is: 2 to 10,000 (120)\n";

constexpr option kOptions[] = {{"columns", required_argument, nullptr, 'c'}, {"help", no_argument, nullptr, 'h'}, {}};

std::uint16_t columns(const char* text) {
    char* end;
    const unsigned long value = std::strtoul(text, &end, 10);
    if (end == text || *end || value < 2 || value > 10000) {
        std::fprintf(stderr, "--columns cannot be '%s'\n%s", text, kHelp);
        std::exit(2);
    }
    return static_cast<std::uint16_t>(value);
}

} // namespace

Options parse_options(int argc, char** argv) {
    Options options;
    for (int option; (option = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
        if (option == 'c') {
            options.columns = columns(optarg);
            continue;
        }
        std::fputs(kHelp, option == 'h' ? stdout : stderr);
        std::exit(option == 'h' ? 0 : 2);
    }
    options.file = argv[optind]; // null behind the last one
    return options;
}
