// standards: 99
#include <memtoll.h>
#include <stdlib.h>
struct arena {
    char* chunk;
    size_t size, used;
};
@docs/recording.md: void* take(struct arena* arena
