// The camera writes to the buffers of a pool. Who wants a frame gets a lease on the buffer it was written to, and the
// camera has it back when the lease ends.
#pragma once

#include "device.hpp"
#include "frame_pool.hpp"

using Frame = FramePool::Lease;

class Capture {
public:
    Capture(Device& device, const Video& video);
    Frame next();

private:
    Device& _device;
    FramePool _pool;
};
