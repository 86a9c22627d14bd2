// Includes every header as an installed one, with the oldest standard that the library supports.
#include <memtoll/config.hpp>
#include <memtoll/region.hpp>
#include <memtoll/reserved_vector.hpp>
#include <memtoll/rows.hpp>
#include <memtoll/string_pool.hpp>

#define PACKAGE_FOUND MEMTOLL_ON

int main() {
    memtoll::rows<char, int> table(2, 3);
    table[1].attributes().push_back(1);
    return MEMTOLL_USING(PACKAGE_FOUND) && table.touched_rows() == 1 ? 0 : 1;
}
