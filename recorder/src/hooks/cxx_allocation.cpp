// The replaceable operators new and delete, under their mangled names: declared as what they are, they would bring in
// the C++ runtime's headers and its rules about who may define them.
//
// They forward to the next operator, not to malloc: a program's own operator, and its new handler, keep working. The
// malloc that the next operator calls is not counted again, because the hook is then busy (see enter_slow).
#include "scope.hpp"

#include <cstdlib>

using namespace memtoll;

#define NEW(name, symbol)                                                                                               \
    MEMTOLL_EVENT_HOOK_AS(void*, symbol, (size_t size), (size), ) {                                                     \
        return acquire(k_##name, size, 0, [&] {                                                                         \
            return known(next.name, #symbol) ? next.name(size) : overridden.malloc(size);                               \
        });                                                                                                             \
    }
#define NEW_NOTHROW(name, symbol)                                                                                       \
    MEMTOLL_EVENT_HOOK(void*, symbol, (size_t size, const void* tag), (size, tag)) {                                    \
        return acquire(k_##name, size, 0, [&] {                                                                         \
            return known(next.name, #symbol) ? next.name(size, tag) : overridden.malloc(size);                          \
        });                                                                                                             \
    }
#define NEW_ALIGNED(name, symbol)                                                                                       \
    MEMTOLL_EVENT_HOOK_AS(void*, symbol, (size_t size, size_t alignment), (size, alignment), ) {                        \
        return acquire(k_##name, size, log2_of(alignment), [&] {                                                        \
            return known(next.name, #symbol) ? next.name(size, alignment) : overridden.memalign(alignment, size);       \
        });                                                                                                             \
    }
#define NEW_ALIGNED_NOTHROW(name, symbol)                                                                               \
    MEMTOLL_EVENT_HOOK(void*, symbol, (size_t size, size_t alignment, const void* tag), (size, alignment, tag)) {       \
        return acquire(k_##name, size, log2_of(alignment), [&] {                                                        \
            return known(next.name, #symbol) ? next.name(size, alignment, tag) : overridden.memalign(alignment, size);  \
        });                                                                                                             \
    }

NEW(new_, _Znwm)
NEW(new_array, _Znam)
NEW_NOTHROW(new_nothrow, _ZnwmRKSt9nothrow_t)
NEW_NOTHROW(new_array_nothrow, _ZnamRKSt9nothrow_t)
NEW_ALIGNED(new_aligned, _ZnwmSt11align_val_t)
NEW_ALIGNED(new_array_aligned, _ZnamSt11align_val_t)
NEW_ALIGNED_NOTHROW(new_aligned_nothrow, _ZnwmSt11align_val_tRKSt9nothrow_t)
NEW_ALIGNED_NOTHROW(new_array_aligned_nothrow, _ZnamSt11align_val_tRKSt9nothrow_t)

#define DELETE(name, symbol, parameters, ...)                                                                           \
    MEMTOLL_EVENT_HOOK(void, symbol, parameters, (__VA_ARGS__)) {                                                       \
        release(k_##name, block, [&] {                                                                                  \
            known(next.name, #symbol) ? next.name(__VA_ARGS__) : overridden.free(block);                                \
        });                                                                                                             \
    }

DELETE(delete_, _ZdlPv, (void* block), block)
DELETE(delete_array, _ZdaPv, (void* block), block)
DELETE(delete_sized, _ZdlPvm, (void* block, size_t size), block, size)
DELETE(delete_array_sized, _ZdaPvm, (void* block, size_t size), block, size)
DELETE(delete_nothrow, _ZdlPvRKSt9nothrow_t, (void* block, const void* tag), block, tag)
DELETE(delete_array_nothrow, _ZdaPvRKSt9nothrow_t, (void* block, const void* tag), block, tag)
DELETE(delete_aligned, _ZdlPvSt11align_val_t, (void* block, size_t alignment), block, alignment)
DELETE(delete_array_aligned, _ZdaPvSt11align_val_t, (void* block, size_t alignment), block, alignment)
DELETE(delete_sized_aligned, _ZdlPvmSt11align_val_t, (void* block, size_t size, size_t alignment), block, size,
       alignment)
DELETE(delete_array_sized_aligned, _ZdaPvmSt11align_val_t, (void* block, size_t size, size_t alignment), block, size,
       alignment)
DELETE(delete_aligned_nothrow, _ZdlPvSt11align_val_tRKSt9nothrow_t, (void* block, size_t alignment, const void* tag),
       block, alignment, tag)
DELETE(delete_array_aligned_nothrow, _ZdaPvSt11align_val_tRKSt9nothrow_t,
       (void* block, size_t alignment, const void* tag), block, alignment, tag)
