// Each call of `probe` prints its name and the address of the call, relative to the file. The markers at the ends of
// lines are how the tests find line numbers.
#include <cstdio>

extern "C" {
extern const char __ehdr_start __attribute__((visibility("hidden")));

__attribute__((noinline)) void probe(const char *name) {
    const char *call = static_cast<const char *>(__builtin_return_address(0)) - 1;
    std::printf("%s %lx\n", name, static_cast<unsigned long>(call - &__ehdr_start));
}

__attribute__((noinline)) void plain_c(void) {
    probe("plain"); // plain:probe
    asm volatile("");
}
}

namespace shop {

template <class Item> struct Cart {
    int count;

    __attribute__((always_inline)) void add(Item item) {
        count += static_cast<int>(item);
        probe("add"); // add:probe
        asm volatile("");
    }
};

template <class Item> __attribute__((always_inline)) inline void fill(Cart<Item> &cart) {
    cart.add(3); // fill:add
}

__attribute__((noinline)) int sell(int count) {
    Cart<long> cart{count};
    fill(cart); // sell:fill
    return cart.count;
}

} // namespace shop

namespace {

__attribute__((noinline)) void hidden() {
    probe("hidden"); // hidden:probe
    asm volatile("");
}

__attribute__((always_inline)) inline void hidden_inline() {
    probe("hidden_inline"); // hidden_inline:probe
    asm volatile("");
}

} // namespace

int main(int count, char **) {
    auto lambda = [&](int more) __attribute__((always_inline)) {
        probe("lambda"); // lambda:probe
        asm volatile("");
        return count + more;
    };
    int total = shop::sell(count);
    hidden();
    hidden_inline(); // main:hidden_inline
    plain_c();
    return lambda(total) == 0; // main:lambda
}
