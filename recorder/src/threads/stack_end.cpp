#include "stack_end.hpp"

#include "../dynamic_section.hpp"

#include <atomic>
#include <pthread.h>
#include <sys/auxv.h>
#include <unistd.h>

extern "C" __attribute__((weak)) void* __libc_stack_end; // glibc's loader: where the main thread's stack begins

namespace memtoll {
namespace {

// glibc's process entry in the loader is code without rules, and stands at the very beginning of the stack.
constexpr uint32_t kGlibcsFirstFrames = sizeof(uintptr_t);
// All code of musl is without rules. Its frames before main and before a thread's function have some 100 to 300 bytes.
constexpr uint32_t kMuslsFirstFrames = 512;

// Where the number of the program's arguments stands, at the beginning of the main thread's stack. `stack_pointer` is an
// address below. The arguments themselves lie above it, then a null, then the environment: so the program may not have made
// itself another one yet.
uintptr_t find_number_of_arguments(uintptr_t stack_pointer) {
    const auto limit = static_cast<uintptr_t>(getauxval(AT_EXECFN)); // a text far above
    constexpr uintptr_t kMost = 8 << 20; // of arguments and environment
    const auto* at = reinterpret_cast<const uintptr_t*>(environ) - 2;
    if (limit - reinterpret_cast<uintptr_t>(at) > kMost) return limit;
    uintptr_t behind = 0;
    for (; reinterpret_cast<uintptr_t>(at) > stack_pointer; --at, ++behind)
        if (*at == behind) return reinterpret_cast<uintptr_t>(at);
    return limit;
}

uintptr_t end_of_main_stack(uintptr_t stack_pointer) {
    if (&__libc_stack_end) return reinterpret_cast<uintptr_t>(__libc_stack_end);
    static std::atomic<uintptr_t> found{0}; // by the first call, which comes before main
    uintptr_t end = found.load(std::memory_order_relaxed);
    if (end == 0) found.store(end = find_number_of_arguments(stack_pointer), std::memory_order_relaxed);
    return end;
}

// Where the stack of the calling thread ends, which is not the main thread; 0 if that is not known.
uintptr_t asked_of_musl() {
    Wanted wanted[2];
    find_symbols("pthread_getattr_np\0pthread_attr_getstack", wanted, 2, Where::kAnywhere);
    auto* const get_attributes = reinterpret_cast<decltype(&pthread_getattr_np)>(wanted[0].found);
    auto* const get_stack = reinterpret_cast<decltype(&pthread_attr_getstack)>(wanted[1].found);
    pthread_attr_t attributes;
    void* low = nullptr;
    size_t bytes = 0;
    const bool is_known = get_attributes && get_stack && get_attributes(pthread_self(), &attributes) == 0 &&
                          get_stack(&attributes, &low, &bytes) == 0;
    return is_known ? reinterpret_cast<uintptr_t>(low) + bytes : 0;
}

} // namespace

unwind::StackEnd stack_end_of_this_thread(uintptr_t stack_pointer) {
    const bool is_glibc = &__libc_stack_end != nullptr;
    const uintptr_t main_end = end_of_main_stack(stack_pointer);
    // A thread's control block lies at the end of its stack; the main thread's lies elsewhere, below its stack.
    const auto self = static_cast<uintptr_t>(pthread_self());
    const bool is_main = stack_pointer >= self || (stack_pointer < main_end && main_end <= self);
    if (is_glibc) return {is_main ? main_end : self, kGlibcsFirstFrames};
    // musl's thread-local storage, of any size, lies between.
    const uintptr_t end = is_main ? main_end : asked_of_musl();
    return {stack_pointer < end ? end : self, kMuslsFirstFrames};
}

} // namespace memtoll
