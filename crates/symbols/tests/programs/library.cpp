// A shared library with one exported and one internal function.
#include <cstdio>

extern "C" {
extern const char __ehdr_start __attribute__((visibility("hidden")));
}

namespace {

__attribute__((noinline)) unsigned long here() {
    const char *call = static_cast<const char *>(__builtin_return_address(0)) - 1;
    return static_cast<unsigned long>(call - &__ehdr_start);
}

__attribute__((noinline)) void internal() {
    std::printf("internal %lx\n", here());
}

} // namespace

namespace shelf {

__attribute__((visibility("default"), noinline)) void exported(int) {
    std::printf("exported %lx\n", here());
    internal();
    asm volatile("");
}

} // namespace shelf

__attribute__((visibility("default"))) int main() {
    shelf::exported(1);
}
