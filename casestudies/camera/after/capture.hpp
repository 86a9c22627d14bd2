// The camera writes to the buffers of a pool. Who wants a frame gets a lease on the buffer it was written to, and the
// camera has it back when the lease ends. Whoever wants a frame when all are leased waits.
#pragma once

#include "device.hpp"

#include <memtoll/buffer_pool.hpp>

class Frame {
public:
    explicit Frame(memtoll::buffer_pool::buffer lease) : _lease(std::move(lease)) {}
    const std::byte* pixels() const { return _lease.data(); }

private:
    memtoll::buffer_pool::buffer _lease;
};

class Capture {
public:
    Capture(Device& device, const Video& video);
    Frame next();

private:
    // One that the camera writes to, one on its way, one being looked at, and one on the screen.
    static constexpr std::size_t kBuffers = 4;
    Device& _device;
    memtoll::buffer_pool _pool;
};
