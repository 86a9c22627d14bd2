// The pools of the remedies, which say what they hand out unless NDEBUG is defined.
#include "e2e.h"

#include <memtoll/buffer_pool.hpp>
#include <memtoll/string_pool.hpp>

#include <string_view>

SITE static void names(memtoll::string_pool& pool) {
    for (int i = 0; i < 1000; ++i) keep(const_cast<char*>(pool.add("eleven char").data()));
    keep(const_cast<char*>(pool.add(std::string_view("a text that is longer than what is copied without a branch: 80 bytes of it......")).data()));
    keep(const_cast<char*>(pool.add(500, [](char* room) { return room[0] = 'x', std::size_t{1}; }).data()));
    for (int i = 0; i < 50; ++i) keep(const_cast<char*>(pool.intern("each text once").data()));
}

SITE static void large(memtoll::string_pool& pool) {
    keep(pool.allocate(3 << 20, 64));
    STAY();
}

SITE static void frames(memtoll::buffer_pool& pool) {
    auto first = pool.lease(), second = pool.lease(), beyond = pool.lease();
    first.reset();
    first = pool.lease();
    keep(first.data()), keep(second.data()), keep(beyond.data());
}

int main() {
    {
        memtoll::string_pool pool;
        names(pool);
        pool.clear();
        names(pool);
        large(pool);
    }
    memtoll::buffer_pool pool(10000, 2, {memtoll::exhausted::grow});
    frames(pool);
}
