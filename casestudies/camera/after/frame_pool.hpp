// A few frames' memory, lent and returned, on any thread. All of it is allocated at the start. Whoever wants a frame
// when all are lent waits. Four are enough: one that the camera writes to, one on its way, one being looked at, and one
// on the screen.
#pragma once

#include "pixels.hpp"

#include <array>
#include <condition_variable>
#include <mutex>
#include <utility>

class FramePool {
public:
    // The right to use a buffer. It ends with the lease.
    class Lease {
    public:
        Lease(Lease&& other) noexcept : _pool(std::exchange(other._pool, nullptr)), _pixels(other._pixels) {}
        Lease& operator=(Lease other) noexcept { // the lease held until now ends with `other`
            std::swap(_pool, other._pool);
            std::swap(_pixels, other._pixels);
            return *this;
        }
        ~Lease() {
            if (_pool) _pool->give_back(_pixels);
        }
        std::byte* pixels() const { return _pixels; }

    private:
        friend FramePool;
        Lease(FramePool* pool, std::byte* pixels) : _pool(pool), _pixels(pixels) {}
        FramePool* _pool;
        std::byte* _pixels;
    };

    explicit FramePool(const Video& video) {
        for (Pixels& buffer : _buffers) {
            buffer = allocate_pixels(video);
            _free[_free_count++] = buffer.get();
        }
    }

    Lease lease() {
        std::unique_lock lock(_mutex);
        _returned.wait(lock, [&] { return _free_count > 0; });
        return Lease(this, _free[--_free_count]);
    }

    const auto& buffers() const { return _buffers; }

private:
    void give_back(std::byte* pixels) {
        const std::lock_guard lock(_mutex);
        _free[_free_count++] = pixels;
        _returned.notify_one();
    }

    static constexpr std::size_t kBuffers = 4;
    std::array<Pixels, kBuffers> _buffers;
    std::mutex _mutex;
    std::condition_variable _returned;
    std::array<std::byte*, kBuffers> _free{};
    std::size_t _free_count = 0; // _free[0 .. _free_count) are not lent
};
