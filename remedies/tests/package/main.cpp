// Includes every header as an installed one, with the oldest standard that the library supports.
#include <memtoll.h>
#include <memtoll/buffer_pool.hpp>
#include <memtoll/config.hpp>
#include <memtoll/count_allocations.hpp>
#include <memtoll/expect.hpp>
#include <memtoll/format.hpp>
#include <memtoll/region.hpp>
#include <memtoll/region_mark.hpp>
#include <memtoll/reserved_vector.hpp>
#include <memtoll/rows.hpp>
#include <memtoll/string_pool.hpp>
#include <memtoll/text_writer.hpp>

#define PACKAGE_FOUND MEMTOLL_ON

int main() {
    memtoll::expect_at_most scope(1, "package");
    char buffer[8];
    memtoll::rows<char, int> table(2, 3);
    table[1].attributes().push_back(1);
    const bool written = memtoll::text_writer(buffer).append(table.touched_rows()).text() == "1";
    return MEMTOLL_USING(PACKAGE_FOUND) && written && scope.end() ? 0 : 1;
}
