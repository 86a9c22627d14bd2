// Coroutines of C++20: their frames are blocks of the heap, and they allocate while they are resumed from changing
// places.
#include "e2e.h"
#include <coroutine>
#include <cstdlib>
#include <utility>

struct Generator {
    struct promise_type {
        int current = 0;
        Generator get_return_object() { return Generator(std::coroutine_handle<promise_type>::from_promise(*this)); }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        std::suspend_always yield_value(int value) {
            current = value;
            return {};
        }
        void return_void() {}
        void unhandled_exception() { std::abort(); }
    };
    explicit Generator(std::coroutine_handle<promise_type> handle) : handle(handle) {}
    Generator(Generator&& other) : handle(std::exchange(other.handle, nullptr)) {}
    ~Generator() {
        if (handle) handle.destroy();
    }
    bool next() {
        handle.resume();
        return !handle.done();
    }
    std::coroutine_handle<promise_type> handle;
};

SITE static void payload() { std::free(checked(std::malloc(10))); STAY(); }

SITE static Generator numbers(int count) {
    for (int i = 0; i < count; ++i) {
        payload();
        co_yield i;
    }
}

SITE static int resume_here(Generator& generator) {
    const int result = generator.next();
    STAY();
    return result;
}
SITE static int resume_there(Generator& generator) {
    volatile int depth = resume_here(generator);
    return depth;
}

int main() {
    int sum = 0;
    for (int i = 0; i < 100; ++i) {
        Generator generator = numbers(7);
        while (i % 2 ? resume_here(generator) : resume_there(generator)) sum += generator.handle.promise().current;
    }
    say_number("sum", sum);
}
