#include "capture.hpp"

#include <array>

Capture::Capture(Device& device, const Video& video)
    : _device(device), _pool(video.frame_bytes(), kBuffers, {memtoll::exhausted::wait}) {
    std::array<memtoll::buffer_pool::buffer, kBuffers> all;
    for (auto& buffer : all) {
        buffer = _pool.lease();
        device.attach(buffer.data());
    }
}

Frame Capture::next() {
    auto lease = _pool.lease();
    _device.capture(lease.data());
    return Frame(std::move(lease));
}
