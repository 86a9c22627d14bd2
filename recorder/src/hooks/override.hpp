// What a hook forwards to where a file before the recorder, nearly always the executable, defines the same function.
//
//     a library's call  ->  the hook  ->  Override::call  ->  the executable's malloc
//     the executable's malloc, when it goes on with dlsym(RTLD_NEXT)  ->  the hook  ->  Override::call  ->  the C library's
//
// The second line must not end at the executable's again, for ever. It comes from the file that defines the function, which
// did not mean its own; or, where that file's function ended with a jump, it seems to come from whoever called that: this
// library, in the first line.
#pragma once

#include "../session.hpp"
#include "dynamic.hpp"

#include <cstdint>
#include <type_traits>

namespace memtoll {

struct FileRange {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    bool contains(uintptr_t address) const { return address - begin < end - begin; }
};

// Where the file that contains `address` is mapped.
FileRange file_around(uintptr_t address);

inline FileRange recorder_file;

// `Pointer` is a member of Next, of type `R (*)(A...)`.
template <auto Pointer, class Function> struct Override;
template <auto Pointer, class R, class... A> struct Override<Pointer, R(A...)> {
    static inline R (*overriding)(A...);
    static inline R (*following)(A...); // in the order of loading; null if there is none
    static inline FileRange file;       // of `overriding`
    static inline bool is_malloc;

    // The recorder is compiled without jumps in the place of last calls: so the frame before this one is the hook's, and its
    // return address tells the two lines apart.
    [[gnu::noinline]] static R call(A... arguments) {
        const auto* frame = static_cast<const uintptr_t*>(__builtin_frame_address(0));
        const uintptr_t caller = reinterpret_cast<const uintptr_t*>(frame[0])[1];
        const bool from_its_file = file.contains(caller);
        if (from_its_file && is_malloc) session.arena->own_allocator.store(0, std::memory_order_relaxed); // it is seen
        if (following && (from_its_file || recorder_file.contains(caller))) return following(arguments...);
        return overriding(arguments...);
    }
};

} // namespace memtoll
