// The standard containers: the calls of operator new are deep inside the library, the line that counts is ours.
#include "e2e.h"
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct Sample {
    int value;
    int weight;
};

SITE static void fill_vector(std::vector<Sample>& samples) {
    for (int i = 0; i < 1000; ++i) samples.push_back({i, 1}); // capacities 1, 2, 4 ... 1024: 11 allocations
}
SITE static void fill_reserved(std::vector<Sample>& samples) {
    samples.reserve(1000);
    for (int i = 0; i < 1000; ++i) samples.push_back({i, 1});
}
SITE static void fill_map(std::map<int, int>& map) {
    for (int i = 0; i < 100; ++i) map[i] = i;
}
SITE static void fill_list(std::list<Sample>& list) {
    for (int i = 0; i < 50; ++i) list.push_back({i, i});
}
SITE static void make_strings() {
    for (int i = 0; i < 20; ++i) {
        std::string text(100, 'x');
        keep(text.data());
    }
}
SITE static void make_shared_ones() {
    for (int i = 0; i < 30; ++i) keep(std::make_shared<Sample>(Sample{i, i}).get()); // one block for both parts
}
SITE static void make_unique_ones() {
    for (int i = 0; i < 40; ++i) keep(std::make_unique<Sample[]>(10).get());
}

int main() {
    std::vector<Sample> growing, reserved;
    fill_vector(growing);
    fill_reserved(reserved);
    std::map<int, int> map;
    fill_map(map);
    std::list<Sample> list;
    fill_list(list);
    make_strings();
    make_shared_ones();
    make_unique_ones();
    say_number("sum", long(growing.size() + reserved.size() + map.size() + list.size()));
}
