// Hands frames from one thread to another, one at a time and without losing any: the sender waits while the mailbox is
// full. Allocates nothing.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

template <class T> class Mailbox {
public:
    void send(T value) {
        std::unique_lock lock(_mutex);
        _changed.wait(lock, [&] { return !_value; });
        _value.emplace(std::move(value));
        _changed.notify_one();
    }

    // No more will be sent.
    void close() {
        const std::lock_guard lock(_mutex);
        _closed = true;
        _changed.notify_one();
    }

    // Empty when the mailbox is closed and nothing is left in it.
    std::optional<T> receive() {
        std::unique_lock lock(_mutex);
        _changed.wait(lock, [&] { return _value || _closed; });
        std::optional<T> value = std::move(_value);
        _value.reset();
        _changed.notify_one();
        return value;
    }

private:
    std::mutex _mutex;
    std::condition_variable _changed;
    std::optional<T> _value;
    bool _closed = false;
};
