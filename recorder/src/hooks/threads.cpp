// Threads: who started them, and what they are called. That a thread runs at all is noticed at its first event.
#include "sandbox.hpp"
#include "scope.hpp"

#include <cstdarg>
#include <cstring>
#include <pthread.h>
#include <sys/prctl.h>

namespace memtoll {
namespace {

[[gnu::noinline]] void record_name(uintptr_t frame, pthread_t thread, const char* name) {
    ThreadState* state = begin_hook(frame);
    if (!state) return;
    no_real_call(state, frame);
    const auto handle = static_cast<uint64_t>(thread);
    append_blob(state, wire::kThreadName, &handle, sizeof handle, name, strnlen(name, 16));
    leave(state);
}

} // namespace
} // namespace memtoll

using namespace memtoll;

MEMTOLL_EVENT_HOOK(int, pthread_create,
                   (pthread_t * thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument),
                   (thread, attributes, start, argument)) {
    return event(
        k_pthread_create, [&] { return next.pthread_create(thread, attributes, start, argument); },
        [&](int error) {
            return Described{error == 0, error ? 0 : static_cast<uint64_t>(*thread),
                             reinterpret_cast<uint64_t>(start) & wire::kSizeMask};
        });
}

MEMTOLL_HOOK int pthread_setname_np(pthread_t thread, const char* name) noexcept {
    need_next();
    const int error = next.pthread_setname_np(thread, name);
    if (error == 0) record_name(MEMTOLL_FRAME(), thread, name);
    return error;
}

MEMTOLL_HOOK int prctl(int option, ...) noexcept {
    va_list rest;
    va_start(rest, option);
    unsigned long argument[4];
    for (unsigned long& a : argument) a = va_arg(rest, unsigned long);
    va_end(rest);
    need_next();
    if (option == PR_SET_SECCOMP) be_silent();
    const int result = next.prctl(option, argument[0], argument[1], argument[2], argument[3]);
    if (option == PR_SET_NAME && result == 0)
        record_name(MEMTOLL_FRAME(), pthread_self(), reinterpret_cast<const char*>(argument[0]));
    return result;
}
