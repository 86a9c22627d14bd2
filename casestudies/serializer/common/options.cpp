#include "options.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <getopt.h>
#include <string_view>
#include <thread>

namespace {

constexpr char kHelp[] = "Serialises pages of objects to text.\n"
                         "  --writer W     sprintf, asprintf, ostringstream or to_chars (sprintf)\n"
                         "  --threads N    1: sequentially (as many as processors, at least 4)\n"
                         "  --pages N      (1024)\n"
                         "  --objects N    on each page (1024)\n"
                         "  --repeat N     how often all is done (1)\n";

constexpr struct {
    const char* name;
    Writer writer;
} kWriters[] = {{"sprintf", write_with_sprintf},
                {"asprintf", write_with_asprintf},
                {"ostringstream", write_with_ostringstream},
                {"to_chars", write_with_to_chars}};

[[noreturn]] void fail(const char* option, const char* value) {
    std::fprintf(stderr, "--%s cannot be '%s'\n%s", option, value, kHelp);
    std::exit(2);
}

unsigned number(const char* option, const char* text, unsigned most) {
    char* end;
    const unsigned long value = std::strtoul(text, &end, 10);
    if (end == text || *end || value == 0 || value > most) fail(option, text);
    return static_cast<unsigned>(value);
}

void choose_writer(Options& options, std::string_view name) {
    for (const auto& known : kWriters) {
        if (name != known.name) continue;
        options.writer = known.writer;
        options.writer_name = known.name;
        return;
    }
    fail("writer", name.data());
}

} // namespace

Options parse_options(int argc, char** argv) {
    enum { kWriter = 1, kThreads, kPages, kObjects, kRepeat, kHelpWanted };
    const option known[] = {{"writer", required_argument, nullptr, kWriter},
                            {"threads", required_argument, nullptr, kThreads},
                            {"pages", required_argument, nullptr, kPages},
                            {"objects", required_argument, nullptr, kObjects},
                            {"repeat", required_argument, nullptr, kRepeat},
                            {"help", no_argument, nullptr, kHelpWanted},
                            {}};
    Options options{};
    choose_writer(options, "sprintf");
    for (int found; (found = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
        switch (found) {
        case kWriter: choose_writer(options, optarg); break;
        case kThreads: options.threads = number("threads", optarg, 1024); break;
        case kPages: options.pages = number("pages", optarg, 1 << 20); break;
        case kObjects: options.objects = number("objects", optarg, 1 << 20); break;
        case kRepeat: options.repeat = number("repeat", optarg, 1 << 20); break;
        case kHelpWanted: std::fputs(kHelp, stdout); std::exit(0);
        default: std::fputs(kHelp, stderr); std::exit(2);
        }
    }
    if (optind < argc) {
        std::fprintf(stderr, "unexpected argument '%s'\n%s", argv[optind], kHelp);
        std::exit(2);
    }
    // Four, so that they get into each other's way on two processors as well.
    if (options.threads == 0) options.threads = std::max(4u, std::thread::hardware_concurrency());
    return options;
}
