// standards: 17 20
#include <memtoll/string_pool.hpp>
void use() {
    @remedies/README.md: memtoll::string_pool names;
    static_cast<void>(name), static_cast<void>(same);
}
