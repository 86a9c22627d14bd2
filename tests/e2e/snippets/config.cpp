// standards: 17 20
#include <memtoll/config.hpp>
void trace();
void use() {
    @remedies/README.md: #define GAME_TRACING MEMTOLL_ON
}
