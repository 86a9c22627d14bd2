// What the camera delivers: frames in NV12, a plane of brightness followed by a plane of colours half its size.
#pragma once

#include <cstddef>

struct Video {
    std::size_t width = 1280;
    std::size_t height = 720;
    std::size_t alignment = 4096; // of a frame's memory, bytes; 0: whatever malloc gives

    std::size_t brightness_bytes() const { return width * height; }
    std::size_t frame_bytes() const { return brightness_bytes() + brightness_bytes() / 2; }
};
