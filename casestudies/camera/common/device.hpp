// The camera. A real one writes its frames by DMA, which costs the processor nothing; this one has drawn its picture
// into each of its buffers beforehand, and for a new frame only moves a bright bar in it.
#pragma once

#include "video.hpp"

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

class Device {
public:
    explicit Device(const Video& video) : _video(video) {}

    // Before the first frame: `buffer` is one that the camera may write to.
    void attach(std::byte* buffer) {
        for (std::size_t row = 0; row < _video.height; ++row) draw_background(buffer, row);
        std::memset(buffer + _video.brightness_bytes(), 128, _video.frame_bytes() - _video.brightness_bytes());
        _buffers.push_back({buffer, 0});
    }

    // Writes the next frame to an attached buffer.
    void capture(std::byte* buffer) {
        Attached& attached = find(buffer);
        for (std::size_t row = 0; row < kBarRows; ++row) draw_background(buffer, attached.bar + row);
        attached.bar = _frames++ * kBarStep % (_video.height - kBarRows);
        std::memset(buffer + attached.bar * _video.width, 235, kBarRows * _video.width);
    }

private:
    struct Attached {
        std::byte* buffer;
        std::size_t bar; // its first row
    };

    Attached& find(const std::byte* buffer) {
        for (Attached& attached : _buffers)
            if (attached.buffer == buffer) return attached;
        throw std::logic_error("the camera does not know this buffer");
    }

    void draw_background(std::byte* buffer, std::size_t row) const {
        std::memset(buffer + row * _video.width, static_cast<int>(16 + row % 200), _video.width);
    }

    static constexpr std::size_t kBarRows = 8;
    static constexpr std::size_t kBarStep = 3;
    const Video _video;
    std::vector<Attached> _buffers;
    std::size_t _frames = 0;
};
