// standards: 17 20
#include <memtoll/region.hpp>
void use() {
    @remedies/README.md: memtoll::region screen(
}
