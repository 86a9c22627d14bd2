// Blocks of the program's own allocators. Called by memtoll.h; only the recorder defines these.
#include "scope.hpp"

#include <cstring>

using namespace memtoll;

namespace {

// One event, which counts from now: `write` gets the thread's log, the time and the caller's stack.
template <class Write> [[gnu::always_inline]] inline void tell(Write write) {
    HookScope scope(MEMTOLL_FRAME());
    if (!scope) return;
    scope.no_call_but_guess();
    const uint64_t time = now();
    write(scope.log(), time, scope.stack_node());
}

[[gnu::always_inline]] inline void append_now(ThreadLog& log, wire::Kind kind, uint64_t time, const void* block,
                                              size_t bytes, uint32_t node) {
    append(log, kind, time, time, reinterpret_cast<uint64_t>(block), bytes < wire::kSizeMask ? bytes : wire::kSizeMask,
           node);
}

} // namespace

MEMTOLL_HOOK void memtoll_recorder_alloc(const void* block, size_t bytes) {
    tell([=](ThreadLog& log, uint64_t time, uint32_t node) __attribute__((always_inline)) {
        append_now(log, wire::kPoolAlloc, time, block, bytes, node);
        publish(log);
    });
}

MEMTOLL_HOOK void memtoll_recorder_free(const void* block) {
    tell([=](ThreadLog& log, uint64_t time, uint32_t node) __attribute__((always_inline)) {
        append_now(log, wire::kPoolFree, time, block, 0, node);
        publish(log);
    });
}

MEMTOLL_HOOK void memtoll_recorder_realloc(const void* old, const void* block, size_t bytes) {
    tell([=](ThreadLog& log, uint64_t time, uint32_t node) __attribute__((always_inline)) {
        // Without a result and with a size, the old block is still there.
        if (old && (block || bytes == 0)) append_now(log, wire::kPoolReallocFrom, time, old, 0, node);
        append_now(log, wire::kPoolRealloc, time, block, bytes, node);
        publish(log);
    });
}

MEMTOLL_HOOK void memtoll_recorder_pool_begin(const char* name, const void* chunk, size_t bytes) {
    tell([=](ThreadLog& log, uint64_t, uint32_t node) __attribute__((always_inline)) {
        const wire::PoolBlob blob{reinterpret_cast<uint64_t>(chunk), bytes, node, 0};
        append_blob(log, wire::kPoolBegin, &blob, sizeof blob, name ? name : "", name ? strlen(name) : 0);
    });
}

MEMTOLL_HOOK void memtoll_recorder_pool_end(const void* chunk) {
    tell([=](ThreadLog& log, uint64_t time, uint32_t node) __attribute__((always_inline)) {
        append_now(log, wire::kPoolEnd, time, chunk, 0, node);
        publish(log);
    });
}
