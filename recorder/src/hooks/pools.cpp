// Blocks of the program's own allocators. Called by memtoll.h; only the recorder defines these.
#include "scope.hpp"

#include <cstring>

using namespace memtoll;

namespace {

// One event, which counts from now: `write` gets the thread's state, the time and the caller's stack.
template <class Write> [[gnu::always_inline]] inline void tell(Write write) {
    const uintptr_t frame = MEMTOLL_FRAME();
    ThreadState* state = begin_hook(frame);
    if (!state) return;
    const unwind::Prediction::Guess guess = guess_stack(state, frame);
    no_real_call(state, frame);
    const uint64_t time = now();
    write(state, time, stack_node(state, frame, guess));
    leave(state);
}

[[gnu::always_inline]] inline void append_now(ThreadState* state, wire::Kind kind, uint64_t time, const void* block,
                                              size_t bytes, uint32_t node) {
    append(state, kind, time, time, reinterpret_cast<uint64_t>(block), bytes < wire::kSizeMask ? bytes : wire::kSizeMask,
           node);
}

} // namespace

MEMTOLL_HOOK void memtoll_recorder_alloc(const void* block, size_t bytes) {
    tell([=](ThreadState* state, uint64_t time, uint32_t node) __attribute__((always_inline)) {
        append_now(state, wire::kPoolAlloc, time, block, bytes, node);
        publish(state);
    });
}

MEMTOLL_HOOK void memtoll_recorder_free(const void* block) {
    tell([=](ThreadState* state, uint64_t time, uint32_t node) __attribute__((always_inline)) {
        append_now(state, wire::kPoolFree, time, block, 0, node);
        publish(state);
    });
}

MEMTOLL_HOOK void memtoll_recorder_realloc(const void* old, const void* block, size_t bytes) {
    tell([=](ThreadState* state, uint64_t time, uint32_t node) __attribute__((always_inline)) {
        // Without a result and with a size, the old block is still there.
        if (old && (block || bytes == 0)) append_now(state, wire::kPoolReallocFrom, time, old, 0, node);
        append_now(state, wire::kPoolRealloc, time, block, bytes, node);
        publish(state);
    });
}

MEMTOLL_HOOK void memtoll_recorder_pool_begin(const char* name, const void* chunk, size_t bytes) {
    tell([=](ThreadState* state, uint64_t, uint32_t node) __attribute__((always_inline)) {
        const wire::PoolBlob blob{reinterpret_cast<uint64_t>(chunk), bytes, node, 0};
        append_blob(state, wire::kPoolBegin, &blob, sizeof blob, name ? name : "", name ? strlen(name) : 0);
    });
}

MEMTOLL_HOOK void memtoll_recorder_pool_end(const void* chunk) {
    tell([=](ThreadState* state, uint64_t time, uint32_t node) __attribute__((always_inline)) {
        append_now(state, wire::kPoolEnd, time, chunk, 0, node);
        publish(state);
    });
}
