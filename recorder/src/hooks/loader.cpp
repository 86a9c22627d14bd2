// Code that comes and goes while the program runs.
//
// dlopen and dlmopen look at their return address: the caller's RUNPATH and namespace decide what they load. So they are jumped
// to, not called: new code is noticed when it first appears in a stack, or when the program asks for one of its functions. By then
// its file may be gone, so the supervisor is shown it before.
// Where calls of the new files may be bound past the recorder, they are looked at before the program can use them. For that, dlopen
// is called if the caller makes no difference: where the name is a path.
// dlclose takes addresses away, which the recorder must not remember afterwards.
#include "import_patching.hpp"
#include "scope.hpp"

#include <cstring>
#include <dlfcn.h>

using namespace memtoll;

namespace {

// Before glibc 2.34, a program may come here without the library that loads libraries.
void* loads_nothing(const char*, int) { return nullptr; }
void* loads_nothing_into(long, const char*, int) { return nullptr; }
void* finds_nothing(void*, const char*) { return nullptr; }

template <class Otherwise> void* next_or(void*& pointer, const char* symbol, Otherwise* otherwise) {
    if (!pointer) [[unlikely]]
        pointer = find_symbol(symbol, Where::kAfterRecorder);
    return pointer ? pointer : reinterpret_cast<void*>(otherwise);
}

// Whether what is loaded depends on nothing but the name and, for dlopen, on the caller's namespace.
bool is_path(const char* name) { return name && strchr(name, '/') && !strchr(name, '$'); }

void* open_and_patch(const char* name, int mode) {
    const Load load = begin_load(mode);
    void* const handle = reinterpret_cast<void* (*)(const char*, int)>(next.dlopen)(name, mode);
    if (handle) end_load(load, handle, false);
    return handle;
}

void* open_in_namespace_and_patch(long space, const char* name, int mode) {
    const Load load = begin_load(mode);
    void* const handle = reinterpret_cast<void* (*)(long, const char*, int)>(next.dlmopen)(space, name, mode);
    if (handle) end_load(load, handle, space != LM_ID_BASE);
    return handle;
}

// What is to be jumped to: `function`, or `patching`, which calls that.
template <class Patching>
void* before_load(arch::HookFrame frame, const char* name, int mode, bool in_namespace, void* function, Patching* patching) {
    const bool looks = name && may_bind_elsewhere(mode, in_namespace);
    HookScope scope(frame);
    if (scope) {
        scope.no_call();
        // Without a slash, it is looked for where libraries are installed.
        if (name && strchr(name, '/')) session.show_file(name);
        if (name && !(looks && patching && is_path(name))) expect_new_files(scope.state(), begin_load(mode), looks);
    }
    return looks && patching && is_path(name) ? reinterpret_cast<void*>(patching) : function;
}

} // namespace

extern "C" {
__attribute__((visibility("hidden"), used)) void* memtoll_before_dlopen(const char* name, int mode) {
    need_next();
    void* const function = next_or(next.dlopen, "dlopen", loads_nothing);
    return before_load(MEMTOLL_FRAME(), name, mode, false, function, open_and_patch);
}

__attribute__((visibility("hidden"), used)) void* memtoll_before_dlmopen(long space, const char* name, int mode) {
    need_next();
    void* const function = next_or(next.dlmopen, "dlmopen", loads_nothing_into);
    return before_load(MEMTOLL_FRAME(), name, mode, space != LM_ID_BASE, function, open_in_namespace_and_patch);
}

// From a file in a namespace of its own, whose C library has other functions.
__attribute__((visibility("hidden"), used)) void* memtoll_before_dlopen_elsewhere(const char* name, int mode, Word, Word, Word,
                                                                                  Word table) {
    return before_load<void>(MEMTOLL_FRAME(), name, mode, true, tables[table].dlopen, nullptr);
}

__attribute__((visibility("hidden"), used)) void* memtoll_before_dlmopen_elsewhere(long, const char* name, int mode, Word, Word,
                                                                                   Word table) {
    return before_load<void>(MEMTOLL_FRAME(), name, mode, true, tables[table].dlmopen, nullptr);
}

// Before a program uses what it has loaded: any hook patches what is expected.
__attribute__((visibility("hidden"), used)) void* memtoll_before_dlsym() {
    need_next();
    HookScope scope(MEMTOLL_FRAME());
    if (scope) scope.no_call();
    return next_or(next.dlsym, "dlsym", finds_nothing);
}

__attribute__((visibility("hidden"), used)) void* memtoll_before_dlsym_elsewhere(void*, const char*, Word, Word, Word,
                                                                                 Word table) {
    HookScope scope(MEMTOLL_FRAME());
    if (scope) scope.no_call();
    return tables[table].dlsym;
}
}

MEMTOLL_JUMP_WHERE_TOLD(dlopen, memtoll_before_dlopen);
MEMTOLL_JUMP_WHERE_TOLD(dlmopen, memtoll_before_dlmopen);
MEMTOLL_JUMP_WHERE_TOLD(dlsym, memtoll_before_dlsym);
MEMTOLL_JUMP_WHERE_TOLD(memtoll_open_elsewhere, memtoll_before_dlopen_elsewhere);
MEMTOLL_JUMP_WHERE_TOLD(memtoll_open_in_namespace_elsewhere, memtoll_before_dlmopen_elsewhere);
MEMTOLL_JUMP_WHERE_TOLD(memtoll_find_elsewhere, memtoll_before_dlsym_elsewhere);
MEMTOLL_STUBS(dlsym, memtoll_find_elsewhere);
MEMTOLL_STUBS(dlopen, memtoll_open_elsewhere);
MEMTOLL_STUBS(dlmopen, memtoll_open_in_namespace_elsewhere);

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

extern "C" __attribute__((visibility("hidden"), used)) int memtoll_close_elsewhere(void* handle, Word, Word, Word, Word,
                                                                                   Word table) {
    forget_code_in_all_threads();
    const int result = tables[table].dlclose(handle);
    forget_code_in_all_threads();
    return result;
}
MEMTOLL_STUBS(dlclose, memtoll_close_elsewhere);
