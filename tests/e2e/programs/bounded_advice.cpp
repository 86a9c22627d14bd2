// Problems whose cost is known by arithmetic: no advice saves more than that. With "fixed", the remedy is applied.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace {

std::uint64_t sum = 0;

[[gnu::noinline]] void use(const void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

// Lines of a table. Short ones have no block, and each line grows anew.
[[gnu::noinline]] void append(int lines, int fields) {
    for (int line = 0; line < lines; ++line) {
        std::string text;
        for (int i = 0; i < fields; ++i) text = text + std::to_string(i * 7) + ";"; // made anew
        sum += text.size();
    }
}
[[gnu::noinline]] void append_fixed(int lines, int fields) {
    for (int line = 0; line < lines; ++line) {
        std::string text;
        for (int i = 0; i < fields; ++i) {
            text += std::to_string(i * 7);
            text += ";";
        }
        sum += text.size();
    }
}
[[gnu::noinline]] void append_kept(int lines, int fields) {
    std::string text;
    for (int line = 0; line < lines; ++line) {
        text.clear();
        for (int i = 0; i < fields; ++i) {
            text += std::to_string(i * 7);
            text += ";";
        }
        sum += text.size();
    }
}

// The caller gets a string of its own.
[[gnu::noinline]] std::string label(int i) {
    return "the label of number " + std::to_string(i) + ", which is rather long" + (i % 2 ? " and odd" : ""); // chained
}
[[gnu::noinline]] std::string label_fixed(int i) {
    char room[128];
    const int length =
        std::snprintf(room, sizeof room, "the label of number %d, which is rather long%s", i, i % 2 ? " and odd" : "");
    return {room, static_cast<std::size_t>(length)};
}
template <class Make> [[gnu::noinline]] void labels(int n, Make make) {
    for (int i = 0; i < n; ++i) {
        const std::string text = make(i);
        use(text.data());
        std::vector<char> other(100);
        use(other.data());
        sum += text.size();
    }
}

// Two findings of one rule on one line.
template <class T> [[gnu::always_inline]] inline void fill(int n) { std::vector<T> items; for (int i = 0; i < n; ++i) items.push_back(static_cast<T>(i)); use(items.data()); } // two types
[[gnu::noinline]] void two_types() {
    for (int i = 0; i < 200; ++i) { fill<int>(20'000); fill<double>(20'000); }
}

// Arenas of threads grow page by page, each time with a call of mprotect.
[[gnu::noinline]] void grow_arenas() {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([] {
            for (int round = 0; round < 3; ++round) {
                std::vector<char*> all(40'000);
                for (char*& block : all) {
                    block = static_cast<char*>(std::malloc(1000)); // its arena grows
                    block[0] = block[999] = 1;
                }
                for (char* block : all) std::free(block);
            }
        });
    for (auto& thread : threads) thread.join();
}

// Many more threads than processors wait for one lock.
[[gnu::noinline]] void wait_for_one_lock() {
    std::vector<std::thread> threads;
    for (int t = 0; t < 16; ++t)
        threads.emplace_back([] {
            void* kept[64] = {};
            for (int i = 0; i < 40'000; ++i) {
                void*& slot = kept[i % 64];
                std::free(slot);
                slot = std::malloc(1500 + static_cast<std::size_t>(i) % 700); // one lock
                *static_cast<char*>(slot) = 1;
            }
            for (void* block : kept) std::free(block);
        });
    for (auto& thread : threads) thread.join();
}

// What lives at the peak are other blocks.
[[gnu::noinline]] void forget() {
    for (int round = 0; round < 40; ++round) {
        for (int i = 0; i < 1000; ++i) {
            auto* block = static_cast<char*>(std::malloc(400)); // some are forgotten
            block[0] = 1;
            use(block);
            if (i % 50) std::free(block);
        }
        std::vector<char> other(4 << 20, 'a');
        use(other.data());
    }
}

} // namespace

int main(int count, char** words) {
    const std::map<std::string, std::function<void()>> problems = {
        {"append", [] { append(3'000, 40); }},
        {"append fixed", [] { append_fixed(3'000, 40); }},
        {"append kept", [] { append_kept(3'000, 40); }},
        {"labels", [] { labels(30'000, label); }},
        {"labels fixed", [] { labels(30'000, label_fixed); }},
        {"two types", two_types},
        {"arenas", grow_arenas},
        {"lock", wait_for_one_lock},
        {"forget", forget},
    };
    if (count < 2) return 1;
    problems.at(words[1])();
    std::printf("%llu\n", static_cast<unsigned long long>(sum));
    return 0;
}
