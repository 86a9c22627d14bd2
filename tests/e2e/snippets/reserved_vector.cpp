// standards: 17 20
#include <memtoll/reserved_vector.hpp>
struct row { int width; };
void use() {
    @remedies/README.md: memtoll::reserved_vector<row> rows(
    static_cast<void>(first);
}
