// Call stacks that are never the same: each call goes on to a random one of 64 functions, and the innermost one allocates.
// usage: many_stacks [STACKS], of 28 frames each
#include <array>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace {

constexpr int kFunctions = 64;
constexpr int kDepth = 28;

using Function = int (*)(int);
extern const std::array<Function, kFunctions> kAll;

// A linear congruential generator (Knuth, MMIX); its upper six bits.
unsigned draw() {
    static std::uint64_t state = 1;
    state = state * 6'364'136'223'846'793'005u + 1'442'695'040'888'963'407u;
    return static_cast<unsigned>(state >> 58);
}

template <int kNumber>
[[gnu::noinline]] int call(int depth) {
    if (depth == 1) {
        void* block = std::malloc(16);
        asm volatile("" : : "r"(block) : "memory");
        std::free(block);
        return kNumber;
    }
    int result = kAll[draw()](depth - 1);
    // What follows the call keeps it from becoming a jump.
    asm volatile("" : "+r"(result));
    return result + kNumber;
}

template <int... kNumbers>
constexpr std::array<Function, kFunctions> all(std::integer_sequence<int, kNumbers...>) {
    return {call<kNumbers>...};
}

const std::array<Function, kFunctions> kAll = all(std::make_integer_sequence<int, kFunctions>{});

} // namespace

int main(int argc, char** argv) {
    int stacks = argc > 1 ? std::atoi(argv[1]) : 800'000;
    unsigned sum = 0;
    for (int i = 0; i < stacks; ++i) {
        sum += static_cast<unsigned>(kAll[draw()](kDepth));
    }
    return sum == 1;
}
