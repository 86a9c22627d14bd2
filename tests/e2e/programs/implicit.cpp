// Functions that the compiler wrote: implicit and defaulted copies, destructors; a coroutine's frame.
#include "e2e.h"
#include <coroutine>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

struct Implicit { std::string text; std::vector<int> sizes; };
struct Defaulted {
    Defaulted() = default;
    Defaulted(const Defaulted&) = default;
    std::vector<Implicit> items;
};
struct Written {
    Written() = default;
    Written(const Written& other) : text(other.text) {}
    std::string text;
};

SITE static std::size_t copies_implicit(const Implicit& from) {
    const Implicit copy = from;
    return copy.text.size();
}
SITE static std::size_t copies_defaulted(const Defaulted& from) {
    const Defaulted copy = from;
    return copy.items.size();
}
SITE static std::size_t copies_written(const Written& from) {
    const Written copy = from;
    return copy.text.size();
}

struct Task {
    struct promise_type {
        Task get_return_object() { return Task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::abort(); }
    };
    std::coroutine_handle<promise_type> handle;
};
Task coroutine(int count) { // its frame belongs to this line
    volatile int kept = count;
    co_await std::suspend_always{};
    kept = kept + 1;
}

int main() {
    const Implicit implicit{std::string(40, 'a'), {1, 2, 3}};
    Defaulted defaulted;
    defaulted.items.push_back(implicit);
    Written written;
    written.text = std::string(40, 'w');
    std::size_t sum = 0;
    for (int i = 0; i < 100; ++i) sum += copies_implicit(implicit);
    for (int i = 0; i < 200; ++i) sum += copies_defaulted(defaulted);
    for (int i = 0; i < 300; ++i) sum += copies_written(written);
    for (int i = 0; i < 50; ++i) coroutine(i).handle.destroy();
    say_number("sum", sum);
}
