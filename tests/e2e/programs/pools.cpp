// An allocator of the program's own, in C++: one for containers, and one for objects.
#include "e2e.h"
#include "memtoll.h"

#include <list>
#include <new>
#include <vector>

struct arena {
    char* chunk;
    std::size_t used = 0;
    explicit arena(std::size_t bytes) : chunk(static_cast<char*>(::operator new(bytes))) {
        memtoll_pool_begin("arena", chunk, bytes);
    }
    ~arena() {
        memtoll_pool_end(chunk);
        ::operator delete(chunk);
    }
    void* take(std::size_t bytes) {
        void* const block = chunk + used;
        used += (bytes + 15) & ~std::size_t{15};
        memtoll_alloc(block, bytes);
        return block;
    }
};

template <class T> struct from_arena {
    using value_type = T;
    arena* of;
    explicit from_arena(arena& a) : of(&a) {}
    template <class U> from_arena(const from_arena<U>& other) : of(other.of) {}
    T* allocate(std::size_t count) { return static_cast<T*>(of->take(count * sizeof(T))); }
    void deallocate(T* block, std::size_t) { memtoll_free(block); }
    bool operator==(const from_arena& other) const { return of == other.of; }
    bool operator!=(const from_arena& other) const { return of != other.of; }
};

struct bullet {
    double place[3], speed[3];
};

SITE static void shoot(arena& from) {
    std::vector<bullet, from_arena<bullet>> bullets{from_arena<bullet>(from)};
    bullets.reserve(1000);
    keep(bullets.data());
}

SITE static void walk(arena& from) {
    std::list<int, from_arena<int>> path{from_arena<int>(from)};
    for (int i = 0; i < 50; ++i) path.push_back(i);
    keep(&path.front());
}

SITE static void world(arena& from) {
    for (int i = 0; i < 20; ++i) keep(new (from.take(sizeof(bullet))) bullet{});
    STAY();
}

int main() {
    arena a(1 << 20);
    shoot(a);
    walk(a);
    world(a);
}
