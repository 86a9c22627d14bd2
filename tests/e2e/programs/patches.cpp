// A problem for each word, whose change is mechanical: growth, temporary, heap-thrash.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

std::uint64_t sum = 0;

// What the compiler cannot do without.
[[gnu::noinline]] void use(const void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

[[gnu::noinline]] void grow() {
    for (int round = 0; round < 20; ++round) {
        std::vector<std::uint64_t> numbers;
        for (std::uint64_t i = 0; i < 500'000; ++i)
            numbers.push_back(i * i);
        sum += numbers.back();
    }
}

[[gnu::noinline]] void take_rows(std::size_t width) {
    for (int line = 0; line < 300'000; ++line) {
        std::vector<unsigned char> row(width);
        row[static_cast<std::size_t>(line) % width] = 1;
        use(row.data());
        sum += row[7];
    }
}

[[gnu::noinline]] void fill_batches() {
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

} // namespace

int main(int count, char** words) {
    if (count < 2) return 1;
    if (std::strcmp(words[1], "growth") == 0) grow();
    if (std::strcmp(words[1], "temporary") == 0) take_rows(200);
    if (std::strcmp(words[1], "heap-thrash") == 0) fill_batches();
    std::printf("%llu\n", static_cast<unsigned long long>(sum));
    return 0;
}
