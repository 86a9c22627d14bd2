// Compiles if, and only if, FORMAT (a string and arguments) can be formatted without allocating.
#include <memtoll/format.hpp>

char buffer[100];
memtoll::text_writer result = memtoll::format_to(buffer, FORMAT);
