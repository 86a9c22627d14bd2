// Code that comes and goes while the program runs.
//
// dlopen and dlmopen look at their return address: the caller's RUNPATH and namespace decide what they load. So they
// are jumped to, never called, and nothing happens after them: new code is noticed when it first appears in a stack. By
// then its file may be gone, so the supervisor is shown it before.
// dlclose takes addresses away, which the recorder must not remember afterwards.
#include "import_patching.hpp"
#include "scope.hpp"

#include <cstring>

using namespace memtoll;

namespace {

// Before glibc 2.34, a program may come here without the library that loads libraries.
void* loads_nothing(const char*, int) { return nullptr; }
void* loads_nothing_into(long, const char*, int) { return nullptr; }

void* next_or(void*& pointer, const char* symbol, void* otherwise) {
    if (!pointer) [[unlikely]]
        pointer = find_symbol(symbol, Where::kAfterRecorder);
    return pointer ? pointer : otherwise;
}

} // namespace

extern "C" {
__attribute__((visibility("hidden"))) void* memtoll_next_dlopen = nullptr;
__attribute__((visibility("hidden"))) void* memtoll_next_dlmopen = nullptr;

__attribute__((visibility("hidden"), used)) void memtoll_before_dlopen(const char* name, int) {
    HookScope scope(MEMTOLL_FRAME());
    memtoll_next_dlopen = next_or(next.dlopen, "dlopen", reinterpret_cast<void*>(loads_nothing));
    if (!scope) return;
    scope.no_call();
    expect_new_imports(scope.state());
    // Without a slash, it is looked for where libraries are installed.
    if (name && strchr(name, '/')) session.show_file(name);
}

__attribute__((visibility("hidden"), used)) void memtoll_before_dlmopen(long, const char* name, int) {
    memtoll_before_dlopen(name, 0);
    memtoll_next_dlmopen = next_or(next.dlmopen, "dlmopen", reinterpret_cast<void*>(loads_nothing_into));
}
}

MEMTOLL_JUMP_THROUGH(dlopen, memtoll_before_dlopen, memtoll_next_dlopen);
MEMTOLL_JUMP_THROUGH(dlmopen, memtoll_before_dlmopen, memtoll_next_dlmopen);

MEMTOLL_HOOK int dlclose(void* handle) noexcept {
    need_next();
    if (!known(next.dlclose, "dlclose")) return -1;
    // Before: what other threads remember of this code they remember from before they let go of it.
    // After: what this thread remembers from the destructors that dlclose has just run.
    forget_code_in_all_threads();
    const int result = next.dlclose(handle);
    forget_code_in_all_threads();
    return result;
}
