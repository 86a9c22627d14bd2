#include <memtoll/count_allocations.hpp>
