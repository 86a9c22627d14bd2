#include "threads.hpp"

#include <windows.h>

namespace memtoll::machine {

namespace {

struct Call {
    void (*work)(void*, size_t);
    void* context;
    size_t index;
};

DWORD WINAPI make_call(void* call) {
    const Call* c = static_cast<Call*>(call);
    c->work(c->context, c->index);
    return 0;
}

} // namespace

void yield_processor() { SwitchToThread(); }

bool in_threads(size_t count, void (*work)(void* context, size_t index), void* context) {
    static Call calls[kMostThreads];
    static HANDLE threads[kMostThreads];
    if (count > kMostThreads)
        return false;
    for (size_t i = 1; i < count; ++i) {
        calls[i] = {work, context, i};
        threads[i] = CreateThread(nullptr, 0, make_call, &calls[i], 0, nullptr);
        if (threads[i] == nullptr)
            return false;
    }
    work(context, 0);
    for (size_t i = 1; i < count; ++i) {
        WaitForSingleObject(threads[i], INFINITE);
        CloseHandle(threads[i]);
    }
    return true;
}

} // namespace memtoll::machine
