// Includes every header as an installed one, with the oldest standard that the library supports.
#include <memtoll/config.hpp>

#define PACKAGE_FOUND MEMTOLL_ON

int main() { return MEMTOLL_USING(PACKAGE_FOUND) ? 0 : 1; }
