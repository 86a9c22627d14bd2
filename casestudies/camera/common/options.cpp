#include "options.hpp"

#include <cstdio>
#include <cstdlib>
#include <getopt.h>

namespace {

constexpr char kHelp[] = "Shows what a camera delivers.\n"
                         "  --seconds S      seconds of video (10)\n"
                         "  --frames N       frames, instead of --seconds\n"
                         "  --fps F          frames a second (30); 0: as fast as possible, --seconds at 30\n"
                         "  --size WxH       pixels, even numbers (1280x720: frames of 1,382,400 bytes)\n"
                         "  --4k             3840x2160: frames of 12,441,600 bytes\n"
                         "  --alignment N    of what is allocated for a frame, bytes (4096); 0: as malloc gives it\n";

[[noreturn]] void fail(const char* option, const char* value) {
    std::fprintf(stderr, "--%s cannot be '%s'\n%s", option, value, kHelp);
    std::exit(2);
}

double number(const char* option, const char* text) {
    char* end;
    const double value = std::strtod(text, &end);
    if (end == text || *end || !(value >= 0 && value <= 1e6)) fail(option, text);
    return value;
}

void parse_size(const char* text, Video& video) {
    char rest;
    const bool pair = std::sscanf(text, "%zux%zu%c", &video.width, &video.height, &rest) == 2;
    const auto fits = [](std::size_t pixels) { return pixels >= 16 && pixels <= 16384 && pixels % 2 == 0; };
    if (!pair || !fits(video.width) || !fits(video.height)) fail("size", text);
}

std::size_t alignment(const char* text) {
    const auto value = static_cast<std::size_t>(number("alignment", text));
    const bool is_power_of_two = (value & (value - 1)) == 0;
    if (!is_power_of_two || (value != 0 && value < sizeof(void*))) fail("alignment", text);
    return value;
}

} // namespace

Options parse_options(int argc, char** argv) {
    enum { kSeconds = 1, kFrames, kFps, kSize, k4k, kAlignment, kHelpWanted };
    const option known[] = {{"seconds", required_argument, nullptr, kSeconds},
                            {"frames", required_argument, nullptr, kFrames},
                            {"fps", required_argument, nullptr, kFps},
                            {"size", required_argument, nullptr, kSize},
                            {"4k", no_argument, nullptr, k4k},
                            {"alignment", required_argument, nullptr, kAlignment},
                            {"help", no_argument, nullptr, kHelpWanted},
                            {}};
    Options options;
    for (int found; (found = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
        switch (found) {
        case kSeconds: options.seconds = number("seconds", optarg); break;
        case kFrames: options.frames = static_cast<long>(number("frames", optarg)); break;
        case kFps: options.fps = number("fps", optarg); break;
        case kSize: parse_size(optarg, options.video); break;
        case k4k: parse_size("3840x2160", options.video); break;
        case kAlignment: options.video.alignment = alignment(optarg); break;
        case kHelpWanted: std::fputs(kHelp, stdout); std::exit(0);
        default: std::fputs(kHelp, stderr); std::exit(2);
        }
    }
    if (optind < argc) {
        std::fprintf(stderr, "unexpected argument '%s'\n%s", argv[optind], kHelp);
        std::exit(2);
    }
    return options;
}
