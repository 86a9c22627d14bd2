// The next definitions of the functions that the recorder interposes: what a hook forwards to.
#pragma once

#include "../dynamic_section.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <spawn.h>
#include <pthread.h>
#include <sys/types.h>
#include <type_traits>

namespace memtoll {

struct Next {
#define HOOK(name, symbol, type) std::add_pointer_t<type> name;
#include "hooks.def"
};

extern Next next;

// The same for calls that the loader has bound past the recorder, and which import_patching.cpp leads here all the same. Number 0
// is `next`, except that functions which the executable defines itself are the executable's. Each of the others is for files
// with a C library or an allocator of their own; glibc has 15 namespaces beside the program's.
#define MEMTOLL_TABLES 17
extern Next tables[MEMTOLL_TABLES];
inline Next& overridden = tables[0];
extern std::atomic<bool> next_is_known;

void find_next();
// Before the first use of `next`.
inline void need_next() {
    if (!next_is_known.load(std::memory_order_acquire)) [[unlikely]]
        find_next();
}

// The next definition, looked for once more where it was not there at start: a C program may load C++ later, and before
// glibc 2.34 threads and dlopen are in libraries of their own.
template <class Function> [[gnu::always_inline]] inline Function* known(Function*& pointer, const char* symbol) {
    if (!pointer) [[unlikely]]
        pointer = reinterpret_cast<Function*>(find_symbol(symbol, Where::kAfterRecorder));
    return pointer;
}

} // namespace memtoll
