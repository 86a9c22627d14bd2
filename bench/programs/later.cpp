// Programs with a known fix, written after the model of savings: later FUNCTION [fixed].
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <list>
#include <memory_resource>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

bool is_fixed = false;
std::uint64_t sum = 0;

void use(const void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

// Some work of the program's own beside the problem.
void work() {
    std::uint64_t value = 1;
    for (int i = 0; i < 20'000'000; ++i) value = value * 6364136223846793005u + 1442695040888963407u;
    sum += value >> 60;
}

template <class List>
void fill_list(List& list) {
    for (long i = 0; i < 300'000; ++i) list.push_back(i);
    use(&list);
}

[[gnu::noinline]] void fill_list() {
    if (is_fixed) {
        std::vector<long> numbers;
        numbers.reserve(300'000);
        fill_list(numbers);
    } else {
        std::list<long> numbers;
        fill_list(numbers);
    }
}

[[gnu::noinline]] void fill_set() {
    std::uint32_t random = 1;
    std::set<std::uint32_t> set;
    std::vector<std::uint32_t> sorted;
    sorted.reserve(60'000);
    for (int i = 0; i < 60'000; ++i) {
        random = random * 1664525u + 1013904223u;
        if (is_fixed) sorted.push_back(random);
        else set.insert(random);
    }
    std::sort(sorted.begin(), sorted.end());
    use(&set);
    use(&sorted);
}

[[gnu::noinline]] void smooth() {
    std::vector<int> kept;
    for (int i = 0; i < 250'000; ++i) {
        std::vector<int> own;
        std::vector<int>& scratch = is_fixed ? kept : own;
        scratch.assign(40, i);
        use(scratch.data());
    }
}

[[gnu::noinline]] void make_labels() {
    for (int i = 0; i < 120'000; ++i) {
        if (is_fixed) {
            char room[64] = "the label of the item no. ";
            char* end = std::to_chars(room + std::strlen(room), room + sizeof room - 8, i).ptr;
            std::memcpy(end, ", or so", 7);
            sum += static_cast<std::uint64_t>(end + 7 - room);
            use(room);
        } else {
            const std::string label = "the label of the item no. " + std::to_string(i) + ", or so";
            sum += label.size();
            use(label.data());
        }
    }
}

struct Record {
    Record* next;
    std::array<std::uint64_t, 4> values;
};

[[gnu::noinline]] void make_records() {
    std::pmr::monotonic_buffer_resource pool(8 << 20);
    Record* first = nullptr;
    for (std::uint64_t i = 0; i < 150'000; ++i) {
        void* room = is_fixed ? pool.allocate(sizeof(Record), alignof(Record)) : operator new(sizeof(Record));
        first = new (room) Record{first, {i, i, i, i}};
    }
    use(first);
    while (first != nullptr && !is_fixed) {
        Record* next = first->next;
        operator delete(first);
        first = next;
    }
}

struct Sample {
    explicit Sample(short value) : points(8, value) {}
    std::vector<short> points;
};
struct FixedSample {
    explicit FixedSample(short value) { points.fill(value); }
    std::array<short, 8> points;
};

template <class T>
[[gnu::noinline]] void make_samples() {
    std::vector<T> samples;
    samples.reserve(150'000);
    for (int i = 0; i < 150'000; ++i) samples.emplace_back(static_cast<short>(i));
    use(samples.data());
}

} // namespace

int main(int count, char** words) {
    const std::string_view name = count > 1 ? words[1] : "";
    is_fixed = count > 2;
    if (name == "fill_list") fill_list();
    else if (name == "fill_set") fill_set();
    else if (name == "smooth") smooth();
    else if (name == "make_labels") make_labels();
    else if (name == "make_records") make_records();
    else if (name == "Sample") is_fixed ? make_samples<FixedSample>() : make_samples<Sample>();
    else return 1;
    work();
    std::printf("%d\n", static_cast<int>(sum & 0));
    return 0;
}
