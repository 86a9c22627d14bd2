#include "capture.hpp"

Capture::Capture(Device& device, const Video& video) : _device(device), _pool(video) {
    for (const Pixels& buffer : _pool.buffers()) device.attach(buffer.get());
}

Frame Capture::next() {
    Frame frame = _pool.lease();
    _device.capture(frame.pixels());
    return frame;
}
