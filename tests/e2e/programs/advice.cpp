// One problem with memory for each name, and how it looks when it is solved: advice.cpp NAME [fixed].
// Each problem is in a function of its own, which the advice must name.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <memory_resource>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace {

bool is_fixed = false;
std::uint64_t sum = 0;

void use(const void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

// Some work of the program's own beside the problem.
void work(std::uint64_t rounds) {
    std::uint64_t value = 1;
    for (std::uint64_t i = 0; i < rounds; ++i) value = value * 6364136223846793005u + 1442695040888963407u;
    sum += value >> 60;
}

[[gnu::noinline]] void fill_vector() {
    for (int round = 0; round < 20; ++round) {
        std::vector<std::uint64_t> numbers;
        if (is_fixed) numbers.reserve(500'000);
        for (std::uint64_t i = 0; i < 500'000; ++i) numbers.push_back(i);
        use(numbers.data());
    }
}

struct Item {
    explicit Item(int value) : small(3, value) {}
    std::vector<int> small;
};
struct FixedItem {
    explicit FixedItem(int value) : small{value, value, value} {}
    int small[3];
};

template <class T>
[[gnu::noinline]] void make_items() {
    std::vector<std::unique_ptr<T[]>> unused;
    static std::vector<T> items;
    items.reserve(200'000);
    for (int i = 0; i < 200'000; ++i) items.emplace_back(i);
    use(items.data());
    items.clear();
}

[[gnu::noinline]] void fill_map() {
    if (is_fixed) {
        std::vector<std::pair<int, int>> sorted;
        sorted.reserve(200'000);
        for (int i = 0; i < 200'000; ++i) sorted.emplace_back(i, i);
        sum += static_cast<std::uint64_t>(std::lower_bound(sorted.begin(), sorted.end(), std::pair{77, 0})->second);
        return;
    }
    std::map<int, int> map;
    for (int i = 0; i < 200'000; ++i) map.emplace_hint(map.end(), i, i);
    sum += static_cast<std::uint64_t>(map.find(77)->second);
}

[[gnu::noinline]] void make_names() {
    std::pmr::monotonic_buffer_resource pool(16 << 20);
    std::vector<char*> names;
    names.reserve(200'000);
    for (int i = 0; i < 200'000; ++i) {
        const std::size_t size = 20 + static_cast<std::size_t>(i % 30);
        char* name = is_fixed ? static_cast<char*>(pool.allocate(size, 1)) : new char[size];
        std::memset(name, 'x', size);
        names.push_back(name);
    }
    if (!is_fixed)
        for (char* name : names) delete[] name;
}

[[gnu::noinline]] void take_frames() {
    std::unique_ptr<char[]> kept;
    for (int i = 0; i < 200; ++i) {
        constexpr std::size_t kSize = 40 << 20; // above all that malloc would learn to keep
        constexpr std::size_t kUsed = 2 << 20;
        if (!is_fixed || !kept) kept = std::make_unique_for_overwrite<char[]>(kSize);
        std::memcpy(kept.get(), kept.get() + kUsed, kUsed);
        use(kept.get());
        if (!is_fixed) kept.reset();
    }
}

[[gnu::noinline]] std::size_t count_words(const std::string& text) { return text.size() % 7; }
[[gnu::noinline]] std::size_t count_words(std::string_view text) { return text.size() % 7; }

[[gnu::noinline]] void look_up() {
    static const char text[] = "a text that is too long for the room inside a string";
    for (int i = 0; i < 300'000; ++i)
        sum += is_fixed ? count_words(std::string_view(text, sizeof text - 1 - static_cast<std::size_t>(i % 8)))
                        : count_words(std::string(text, sizeof text - 1 - static_cast<std::size_t>(i % 8)));
}

[[gnu::noinline]] void write_lines() {
    for (int i = 0; i < 40'000; ++i) {
        if (is_fixed) {
            char room[64];
            sum += static_cast<std::uint64_t>(std::to_chars(room, room + sizeof room, i).ptr - room);
            continue;
        }
        std::ostringstream out;
        out << "the number of this line is " << i << " and no other";
        sum += out.str().size() % 7;
    }
}

[[gnu::noinline]] void free_nothing() {
    void* volatile nothing = nullptr;
    for (int i = 0; i < 3'000'000; ++i) {
        void* block = nothing;
        if (!is_fixed || block) std::free(block);
    }
}

[[gnu::noinline]] void leak() {
    for (int i = 0; i < 10'000; ++i) {
        auto* block = new char[200];
        std::memset(block, i, 200);
        use(block);
        if (is_fixed || i % 10 != 0) delete[] block;
        work(8000);
    }
}

// Nothing is wrong here.
[[gnu::noinline]] void compute() {
    std::vector<std::uint32_t> numbers(100'000);
    for (int round = 0; round < 60; ++round) {
        for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::uint32_t>(i * 2654435761u) ^ numbers[i];
        std::sort(numbers.begin(), numbers.end());
    }
    sum += numbers[5];
}

} // namespace

int main(int count, char** words) {
    const std::string_view name = count > 1 ? words[1] : "";
    is_fixed = count > 2;
    if (name == "growth") fill_vector();
    else if (name == "small-vectors") is_fixed ? make_items<FixedItem>() : make_items<Item>();
    else if (name == "node-container") fill_map();
    else if (name == "arena") make_names();
    else if (name == "reuse") take_frames();
    else if (name == "temporary") look_up();
    else if (name == "formatting") write_lines();
    else if (name == "free-null") free_nothing();
    else if (name == "never-freed") leak();
    else if (name == "clean") compute();
    else return 1;
    work(20'000'000);
    std::printf("%d\n", static_cast<int>(sum & 0));
    return 0;
}
