// One problem with memory for each name, and how it looks when it is solved: advice.cpp NAME [fixed].
// Each problem is in a function of its own, which the advice must name.
#include <algorithm>
#include <charconv>
#include <climits>
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
#include <thread>
#include <vector>

#include <malloc.h>
#include <sys/mman.h>

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

constexpr std::size_t kPage = 4096;

void touch(char* memory, std::size_t size) {
    for (std::size_t at = 0; at < size; at += kPage) memory[at] = 1;
}

// All threads share one arena, as programs do that keep the number of arenas down to save memory.
[[gnu::noinline]] void share_arena() {
    mallopt(M_ARENA_MAX, 1);
    const auto loop = [] {
        std::unique_ptr<char[]> kept;
        for (int i = 0; i < 150'000; ++i) {
            // Too large for the cache of the thread.
            if (!is_fixed || !kept) kept = std::make_unique_for_overwrite<char[]>(2000 + static_cast<std::size_t>(i % 64) * 16);
            use(kept.get());
            if (!is_fixed) kept.reset();
        }
    };
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back(loop);
}

// Room for the worst case, of which next to nothing is used.
[[gnu::noinline]] void ask_for_much() {
    const std::size_t size = is_fixed ? 1 << 20 : 256 << 20;
    auto room = std::make_unique_for_overwrite<char[]>(size);
    touch(room.get(), 1 << 20);
    use(room.get());
}

// The kernel zeroes fresh memory; so does the program.
[[gnu::noinline]] void zero_twice() {
    constexpr std::size_t kSize = 8 << 20;
    const auto zeroes = [] {
        if (is_fixed) return static_cast<char*>(std::calloc(kSize, 1));
        auto* memory = static_cast<char*>(std::malloc(kSize));
        use(memory); // else the compiler makes it calloc
        std::memset(memory, 0, kSize);
        return memory;
    };
    char* tables[16];
    for (char*& table : tables) touch(table = zeroes(), kSize);
    use(tables);
    for (char* table : tables) std::free(table);
}

// The heap's end goes up and down with each batch.
[[gnu::noinline]] void fill_batches() {
    if (is_fixed) {
        mallopt(M_TRIM_THRESHOLD, INT_MAX);
        mallopt(M_TOP_PAD, 16 << 20);
    }
    std::vector<char*> batch;
    batch.reserve(2000);
    for (int round = 0; round < 60; ++round) {
        for (int i = 0; i < 2000; ++i) {
            batch.push_back(new char[4000]);
            *batch.back() = 1;
        }
        for (; !batch.empty(); batch.pop_back()) delete[] batch.back();
    }
}

[[gnu::noinline]] void fill_table() {
    constexpr std::size_t kSize = 512 << 20;
    auto* table = static_cast<char*>(std::aligned_alloc(2 << 20, kSize));
    if (is_fixed) madvise(table, kSize, MADV_HUGEPAGE);
    touch(table, kSize);
    use(table);
    std::free(table);
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

// A cache: what it holds is asked for and given back in no order, and is of any size.
[[gnu::noinline]] void replace_at_random() {
    std::vector<std::unique_ptr<char[]>> cache(5000);
    std::uint64_t random = 1;
    for (int i = 0; i < 300'000; ++i) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        auto& entry = cache[(random >> 33) % cache.size()];
        const std::size_t size = 16 + (random >> 20) % 900;
        entry = std::make_unique_for_overwrite<char[]>(size);
        std::memset(entry.get(), i, size);
        work(200);
    }
    use(cache.data());
}

// Each thread has what it needs from the beginning.
[[gnu::noinline]] void sort_in_threads() {
    std::vector<std::jthread> threads;
    for (std::uint32_t thread = 0; thread < 4; ++thread)
        threads.emplace_back([thread] {
            std::vector<std::uint32_t> numbers(20'000);
            for (int round = 0; round < 40; ++round) {
                for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::uint32_t>(i * 2654435761u + thread) ^ numbers[i];
                std::sort(numbers.begin(), numbers.end());
            }
            use(numbers.data());
        });
}

// A few names that are looked up again and again, without a copy.
[[gnu::noinline]] void count_names() {
    std::map<std::string, int, std::less<>> counts;
    char name[] = "a name that is too long for the room inside of a string: 00";
    for (int i = 0; i < 2'000'000; ++i) {
        name[sizeof name - 3] = static_cast<char>('0' + i / 10 % 10);
        name[sizeof name - 2] = static_cast<char>('0' + i % 10);
        const auto found = counts.find(std::string_view(name));
        if (found == counts.end()) counts.emplace(name, 1);
        else ++found->second;
    }
    sum += static_cast<std::uint64_t>(counts.begin()->second);
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
    else if (name == "contention") share_arena();
    else if (name == "untouched") ask_for_much();
    else if (name == "zeroed-twice") zero_twice();
    else if (name == "heap-thrash") fill_batches();
    else if (name == "huge-pages") fill_table();
    else if (name == "never-freed") leak();
    else if (name == "clean") compute();
    else if (name == "clean-cache") replace_at_random();
    else if (name == "clean-threads") sort_in_threads();
    else if (name == "clean-names") count_names();
    else return 1;
    work(20'000'000);
    std::printf("%d\n", static_cast<int>(sum & 0));
    return 0;
}
