#include "capture.hpp"

#include <cstring>

Capture::Capture(Device& device, const Video& video) : _device(device), _video(video) {
    for (Pixels& buffer : _ring) {
        buffer = allocate_pixels(video);
        device.attach(buffer.get());
    }
}

Frame Capture::next() {
    std::byte* buffer = _ring[_next++ % kBuffers].get();
    _device.capture(buffer);
    Pixels copy = allocate_pixels(_video);
    std::memcpy(copy.get(), buffer, _video.frame_bytes());
    return Frame(std::move(copy));
}
