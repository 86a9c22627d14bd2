#include "threads.hpp"

#include <pthread.h>
#include <sched.h>

namespace memtoll::machine {

namespace {

struct Call {
    void (*work)(void*, size_t);
    void* context;
    size_t index;
};

void* make_call(void* call) {
    const Call* c = static_cast<Call*>(call);
    c->work(c->context, c->index);
    return nullptr;
}

} // namespace

void yield_processor() { sched_yield(); }

bool in_threads(size_t count, void (*work)(void* context, size_t index), void* context) {
    static Call calls[kMostThreads];
    static pthread_t threads[kMostThreads];
    if (count > kMostThreads)
        return false;
    size_t started = 1;
    for (; started < count; ++started) {
        calls[started] = {work, context, started};
        if (pthread_create(&threads[started], nullptr, make_call, &calls[started]) != 0)
            return false;
    }
    work(context, 0);
    for (size_t i = 1; i < count; ++i)
        pthread_join(threads[i], nullptr);
    return true;
}

} // namespace memtoll::machine
