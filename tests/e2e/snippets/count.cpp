// standards: 17 20
// only without NDEBUG: nothing is expected there, and counting says so
@remedies/README.md: #include <memtoll/count_allocations.hpp>
int main() {}
