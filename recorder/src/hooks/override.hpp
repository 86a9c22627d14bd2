// What a hook forwards to where a file before the recorder, nearly always the executable, defines the same function.
//
//     a library's call  ->  the hook  ->  Override::call  ->  the executable's malloc
//     the executable's malloc, when it goes on with dlsym(RTLD_NEXT)  ->  the hook  ->  Override::call  ->  the C library's
//
// The second line must not end at the executable's again, for ever. It comes from the file that defines the function, which
// did not mean its own; or, where that file's function ended with a jump, it comes from whoever called that function:
// Override::call, in the first line. Other jumps come from the recorder, too, and mean the executable's function: that of
// the C++ library's delete[] to operator delete, when a hook called delete[]. So the frame that called the executable's
// function is remembered.
#pragma once

#include "../arch/x86_64.hpp"
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

// The frame of the Override::call of this thread that called the executable's function last, and is not done; else 0.
inline __thread uintptr_t overriding_frame __attribute__((tls_model("initial-exec"))) = 0;

class OverridingScope {
public:
    explicit OverridingScope(uintptr_t frame) : outer_(overriding_frame) { overriding_frame = frame; }
    ~OverridingScope() { overriding_frame = outer_; }
    OverridingScope(const OverridingScope&) = delete;
    OverridingScope& operator=(const OverridingScope&) = delete;

private:
    uintptr_t outer_;
};

// `Pointer` is a member of Next, of type `R (*)(A...)`.
template <auto Pointer, class Function> struct Override;
template <auto Pointer, class R, class... A> struct Override<Pointer, R(A...)> {
    static inline R (*overriding)(A...);
    static inline R (*following)(A...); // in the order of loading; null if there is none
    static inline FileRange file;       // of `overriding`
    static inline bool is_malloc;

    // The recorder is compiled without jumps in the place of last calls: so the frame before this one is the hook's. Its
    // return address, and the frame pointer that its caller had, tell the two lines apart.
    [[gnu::noinline]] static R call(A... arguments) {
        const auto* frame = static_cast<const uintptr_t*>(__builtin_frame_address(0));
        const arch::CallerFrame caller = arch::caller_frame(reinterpret_cast<const uintptr_t*>(frame[0]));
        const bool called = file.contains(caller.return_address);
        const bool jumped =
            recorder_file.contains(caller.return_address) && caller.frame_pointer == overriding_frame;
        if (called && is_malloc) session.arena->own_allocator.store(0, std::memory_order_relaxed); // it is seen
        const bool goes_on = following && (called || jumped);
        const OverridingScope scope(goes_on ? 0 : reinterpret_cast<uintptr_t>(frame));
        return goes_on ? following(arguments...) : overriding(arguments...);
    }
};

} // namespace memtoll
