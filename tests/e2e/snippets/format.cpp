// standards: 20
#include <memtoll/format.hpp>
#include <cstdio>
void use(int id, const char* kind, double x, unsigned flags) {
    @remedies/README.md: char buffer[64];
}
