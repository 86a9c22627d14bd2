// The memory of one frame.
#pragma once

#include "video.hpp"

#include <cstdlib>
#include <memory>
#include <new>

struct FreePixels {
    void operator()(std::byte* pixels) const { std::free(pixels); }
};
using Pixels = std::unique_ptr<std::byte[], FreePixels>;

inline Pixels allocate_pixels(const Video& video) {
    void* block = nullptr;
    if (video.alignment == 0) block = std::malloc(video.frame_bytes());
    else if (posix_memalign(&block, video.alignment, video.frame_bytes()) != 0) block = nullptr;
    if (!block) throw std::bad_alloc();
    return Pixels(static_cast<std::byte*>(block));
}
