// A problem with memory for each name, whose advice an engineer would sign.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <thread>
#include <vector>

namespace {

std::uint64_t sum = 0;

// What the compiler cannot do without.
[[gnu::noinline]] void use(const void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

struct Record {
    char bytes[104];
};

// Capacities are of bytes, where the size of an element is not known, and rounded up.
[[gnu::noinline]] void grow(int n) {
    std::vector<Record> records;
    for (int i = 0; i < n; i++) {
        Record record;
        std::memset(&record, i, sizeof record);
        records.push_back(record); // grows
    }
    sum += records.size();
}

// Every byte is needed as it is.
[[gnu::noinline]] void fill() {
    for (int i = 0; i < 40; ++i) {
        auto* line = new std::vector<char>(1 << 20, 'a'); // filled with letters
        sum += static_cast<std::uint64_t>((*line)[7]);
        use(line);
    }
}

[[gnu::noinline]] void set_all() {
    for (int i = 0; i < 40; ++i) {
        auto* memory = static_cast<char*>(std::malloc(1 << 20)); // filled with ones
        std::memset(memory, 0xff, 1 << 20);
        use(memory);
    }
}

// What is filled with zeroes, and then overwritten.
[[gnu::noinline]] void zero() {
    for (int i = 0; i < 40; ++i) {
        auto* memory = new std::vector<char>(1 << 20); // filled with zeroes
        std::memset(memory->data(), i, memory->size());
        use(memory->data());
    }
}

[[gnu::noinline]] std::string append(int n) {
    std::string list;
    for (int i = 0; i < n; i++) list = list + std::to_string(i) + ","; // copied each time
    return list;
}

[[gnu::noinline]] void match(int n) {
    for (int i = 0; i < n; ++i) {
        std::regex number("([a-z]+) number ([0-9]+)|x*"); // made each time
        sum += std::regex_match("one number 5", number);
    }
}

struct Message {
    int kind;
    char body[100];
};
[[gnu::noinline]] int consume(std::shared_ptr<Message> message) { return message->kind; }
[[gnu::noinline]] void pump(int n) {
    for (int i = 0; i < n; i++) {
        auto message = std::make_shared<Message>(); // never shared
        message->kind = i;
        sum += static_cast<std::uint64_t>(consume(message));
    }
}

[[gnu::noinline]] void collect(int n) {
    std::vector<std::string> names;
    names.reserve(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) {
        std::string name = "a name that is longer than what fits inside";
        name[0] = static_cast<char>('a' + i % 26);
        names.push_back(name); // copied, and dropped
    }
    sum += names.size();
}

[[gnu::noinline]] void count_words() {
    std::map<std::string, int> counts;
    std::uint32_t random = 12345;
    for (int i = 0; i < 300'000; ++i) {
        random = random * 1664525 + 1013904223;
        char word[16];
        std::snprintf(word, sizeof word, "word%u", (random >> 8) % 40'000);
        ++counts[word]; // searched in a tree
    }
    sum += counts.size();
}

struct Node {
    std::uint64_t value;
    Node *left, *right;
};

[[gnu::noinline]] void make_graphs() {
    for (int round = 0; round < 10; ++round) {
        std::vector<Node*> nodes;
        nodes.reserve(100'000);
        for (int i = 0; i < 100'000; ++i) {
            Node* left = i ? nodes[static_cast<std::size_t>(i - 1) / 2] : nullptr;
            nodes.push_back(new Node{static_cast<std::uint64_t>(i), left, nullptr}); // dies with all others
        }
        sum += nodes.back()->left->value;
        for (Node* node : nodes) delete node;
    }
}

[[gnu::noinline]] void wait_for_each_other() {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([] {
            void* kept[64] = {};
            for (int i = 0; i < 300'000; ++i) {
                void*& slot = kept[i % 64];
                std::free(slot);
                slot = std::malloc(1500 + static_cast<std::size_t>(i) % 700); // one lock
                *static_cast<char*>(slot) = 1;
            }
            for (void* block : kept) std::free(block);
        });
    for (auto& thread : threads) thread.join();
}

} // namespace

int main(int count, char** words) {
    const std::map<std::string, std::function<void()>> problems = {
        {"grow", [] { for (int k = 0; k < 1000; ++k) grow(513 + k % 3); }},
        {"fill", fill},
        {"set", set_all},
        {"zero", zero},
        {"append", [] { for (int k = 0; k < 100; ++k) sum += append(400).size(); }},
        {"match", [] { match(300); }},
        {"pump", [] { pump(200'000); }},
        {"collect", [] { for (int k = 0; k < 20; ++k) collect(10'000); }},
        {"words", count_words},
        {"graphs", make_graphs},
        {"wait", wait_for_each_other},
    };
    if (count < 2) return 1;
    problems.at(words[1])();
    std::printf("%llu\n", static_cast<unsigned long long>(sum));
    return 0;
}
