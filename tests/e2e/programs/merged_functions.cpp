// merged_functions: vectors of different types whose growing is the same code, which the linker keeps once
// (-ffunction-sections -fuse-ld=gold -Wl,--icf=all). 11 blocks of each.
#include <cstdio>
#include <vector>

namespace shop {

struct Order {
    int number;
};
struct Customer {
    int number;
};

// Where a vector grows in several places, that becomes a function of its own.
[[gnu::noinline]] void order(std::vector<Order*>& orders, Order* one) {
    for (int i = 0; i < 250; ++i) {
        orders.push_back(one);
        orders.push_back(one + 1);
        orders.push_back(one);
        orders.push_back(one + 2);
    }
}

[[gnu::noinline]] void visit(std::vector<Customer*>& customers, Customer* one) {
    for (int i = 0; i < 250; ++i) {
        customers.push_back(one + 1);
        customers.push_back(one);
        customers.push_back(one);
        customers.push_back(one + 2);
    }
}

} // namespace shop

int main() {
    std::vector<shop::Order*> orders;
    std::vector<shop::Customer*> customers;
    shop::Order one[3] = {};
    shop::Customer two[3] = {};
    shop::order(orders, one);
    shop::visit(customers, two);
    printf("%zu\n", orders.size() + customers.size());
}
