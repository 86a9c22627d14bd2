// standards: 17 20
#include <memtoll/text_writer.hpp>
#include <string_view>
void use(int id, double x, unsigned flags) {
    char buffer[64];
    @remedies/README.md: memtoll::text_writer out(buffer);
}
