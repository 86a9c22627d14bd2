// standards: 17 20
#include <memtoll/buffer_pool.hpp>
struct device { void read(std::byte*, std::size_t); };
extern device camera;
void use() {
    @remedies/README.md: memtoll::buffer_pool pool(
}
