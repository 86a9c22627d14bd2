// operator new, which counts: all its other forms end in one of these two. For count_allocations.hpp, where malloc cannot
// be replaced.
//
// operator delete is left alone: it frees with free and, on Windows, _aligned_free.
#pragma once

#include <cstdlib>
#include <new>

#ifdef _WIN32
#include <malloc.h>
#endif

namespace memtoll::detail {

// What operator new promises: memory, or the new-handler is asked, or it throws.
template <class Allocate> void* allocate_as_new_does(Allocate allocate) {
    for (;;) {
        if (void* const block = allocate()) return block;
        const std::new_handler handler = std::get_new_handler();
        if (!handler) throw std::bad_alloc();
        handler();
    }
}

MEMTOLL_FIRST void operator_new_is_counted() { allocations_are_counted = true; }

} // namespace memtoll::detail

void* operator new(std::size_t size) {
    memtoll::detail::count_allocation(size);
    return memtoll::detail::allocate_as_new_does([&] { return std::malloc(size ? size : 1); });
}

void* operator new(std::size_t size, std::align_val_t alignment) {
    memtoll::detail::count_allocation(size);
    return memtoll::detail::allocate_as_new_does([&] {
        const auto bytes = static_cast<std::size_t>(alignment);
#ifdef _WIN32
        return _aligned_malloc(size ? size : 1, bytes);
#else
        return std::aligned_alloc(bytes, size ? (size + bytes - 1) / bytes * bytes : bytes);
#endif
    });
}
