// Counting in a program whose scopes are off does not compile.
#include <memtoll/count_allocations.hpp>
