// Threads: who started them, and what they are called. That a thread runs at all is noticed at its first event.
#include "../kernel.hpp"
#include "sandbox.hpp"
#include "scope.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <pthread.h>
#include <sys/prctl.h>

namespace memtoll {
namespace {

[[gnu::noinline]] void record_name(arch::HookFrame frame, pthread_t thread, const char* name) {
    HookScope scope(frame);
    if (!scope) return;
    scope.no_call();
    const wire::ThreadNameBlob blob{static_cast<uint64_t>(thread)};
    append_blob(scope.log(), wire::kThreadName, &blob, sizeof blob, name, strnlen(name, 16));
}

// A thread was started by a call that began at `begin`.
[[gnu::noinline]] void record_thread(arch::HookFrame frame, uint64_t begin, uint64_t thread, void* (*start)(void*)) {
    HookScope scope(frame);
    if (!scope) return;
    scope.no_call_but_guess();
    const uint64_t end = now();
    const uint32_t node = scope.stack_node();
    append(scope.log(), k_pthread_create, begin, end, thread, reinterpret_cast<uint64_t>(start) & wire::kSizeMask, node);
    publish(scope.log());
}

} // namespace
} // namespace memtoll

using namespace memtoll;

// The loader allocates the new thread's local storage inside the real call, and frees it when the stack is given up. These
// are calls of their own, so the real one is made between two uses of the hook, neither of which lasts through it. Like
// everything else that counts from its end, the event gets its time while the hook is seen to be at work.
MEMTOLL_EVENT_HOOK(int, pthread_create,
                   (pthread_t * thread, const pthread_attr_t* attributes, void* (*start)(void*), void* argument),
                   (thread, attributes, start, argument)) {
    const arch::HookFrame frame = MEMTOLL_FRAME();
    need_next();
    // A program that asks whether there are threads finds this function, but there are none without their library.
    if (!known(next.pthread_create, "pthread_create")) return ENOSYS;
    uint64_t begin;
    {
        HookScope scope(frame);
        if (!scope) return next.pthread_create(thread, attributes, start, argument);
        scope.no_call();
        begin = now();
    }
    const int error = next.pthread_create(thread, attributes, start, argument);
    // The thread runs, and may have given back the memory that `thread` lies in.
    if (error == 0) record_thread(frame, begin, kernel::word_at(reinterpret_cast<uintptr_t>(thread)), start);
    return error;
}

MEMTOLL_HOOK int pthread_setname_np(pthread_t thread, const char* name) noexcept {
    need_next();
    if (!known(next.pthread_setname_np, "pthread_setname_np")) return ENOSYS;
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
    const auto forbidding = Forbidding::by_prctl(option, argument[0], argument[1]);
    const int result = forbidding.settle(next.prctl(option, argument[0], argument[1], argument[2], argument[3]));
    if (option == PR_SET_NAME && result == 0)
        record_name(MEMTOLL_FRAME(), pthread_self(), reinterpret_cast<const char*>(argument[0]));
    return result;
}
