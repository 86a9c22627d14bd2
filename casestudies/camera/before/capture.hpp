// The camera writes to a ring of its own buffers. Who wants a frame gets a copy in fresh memory, so that the camera can
// have its buffer back at once.
#pragma once

#include "device.hpp"
#include "pixels.hpp"

class Frame {
public:
    explicit Frame(Pixels pixels) : _pixels(std::move(pixels)) {}
    const std::byte* pixels() const { return _pixels.get(); }

private:
    Pixels _pixels;
};

class Capture {
public:
    Capture(Device& device, const Video& video);
    Frame next();

private:
    static constexpr std::size_t kBuffers = 4;
    Device& _device;
    const Video _video;
    Pixels _ring[kBuffers];
    std::size_t _next = 0;
};
