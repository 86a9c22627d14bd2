// Makes a program count its allocations, for expect.hpp. Include it in one .cpp of a test program, and nowhere else:
//
//     #include <memtoll/count_allocations.hpp>
//
// It defines the allocation functions, which count and go on to the next definition: the C library's, that of an allocator
// that was preloaded, or the recorder's. So a recording of the program is as without it. Each call counts once, whether it
// succeeds or not, for the thread that makes it; realloc counts as a call of malloc. A call costs about 2 ns more.
//
//   * Linux: malloc and its relatives, and with them operator new and what libraries allocate. The program must be
//     dynamically linked, and have no other malloc of its own.
//   * Address, thread and memory sanitizer: as the sanitizer's allocator tells, which leaves out some: those that fail
//     (address), aligned ones that operator new did not make (thread).
//   * elsewhere: operator new.
#pragma once

#include <memtoll/detail/allocation_count.hpp>
#include <memtoll/expect.hpp>

#include <cstddef>

static_assert(MEMTOLL_USING(MEMTOLL_EXPECTATIONS),
              "allocations are counted, but nothing is expected: NDEBUG says so, unless -D MEMTOLL_EXPECTATIONS=MEMTOLL_ON does not");

#ifdef __has_feature
#define MEMTOLL_HAS_FEATURE(FEATURE) __has_feature(FEATURE)
#else
#define MEMTOLL_HAS_FEATURE(FEATURE) 0
#endif

namespace memtoll::detail {

inline void count_allocation(std::size_t bytes) noexcept {
    ++allocations_of_this_thread.allocations;
    allocations_of_this_thread.bytes += bytes;
}

} // namespace memtoll::detail

// A function that runs before the program's static initialisers: scopes may stand in these, too.
#define MEMTOLL_FIRST [[gnu::constructor(101)]] static

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || MEMTOLL_HAS_FEATURE(address_sanitizer) ||         \
    MEMTOLL_HAS_FEATURE(thread_sanitizer) || MEMTOLL_HAS_FEATURE(memory_sanitizer)

extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, std::size_t),
                                                         void (*)(const volatile void*));

namespace memtoll::detail {
MEMTOLL_FIRST void install_hooks() {
    allocations_are_counted = __sanitizer_install_malloc_and_free_hooks(
        [](const volatile void*, std::size_t bytes) { count_allocation(bytes); }, [](const volatile void*) {});
}
} // namespace memtoll::detail

#elif defined(__linux__)

#include <memtoll/detail/count_malloc.hpp>

#else

#include <memtoll/detail/count_operator_new.hpp>

#endif

#undef MEMTOLL_FIRST
#undef MEMTOLL_HAS_FEATURE
