// The command line.
#pragma once

#include "video.hpp"

struct Options {
    Video video;
    double fps = 30;     // 0: as fast as possible
    double seconds = 10; // of video
    long frames = -1;    // -1: as many as `seconds` of video have

    long frame_count() const { return frames >= 0 ? frames : static_cast<long>(seconds * (fps > 0 ? fps : 30)); }
};

// Prints what is wrong, or the help, and exits.
Options parse_options(int argc, char** argv);
