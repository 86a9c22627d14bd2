// For calls that the loader binds past the recorder, although they pass through import tables:
//
// * An executable that defines malloc itself (rustc carries its own jemalloc): symbol look-up finds that definition before the
//   preloaded one.
// * A library opened with RTLD_DEEPBIND: its calls are bound to its own libraries, the C library among them.
// * A library in a namespace of its own (dlmopen), which has a C library of its own.
//
// Then the import tables of these files are given hooks that go on to the very functions that the loader has bound: one of
// `tables` (next.hpp) has them. What those call may be the recorder's exported hooks, through dlsym(RTLD_NEXT): so each table has
// an entry of its own to each hook. The return address does not say who called: any library's function may end with a jump.
//
// Calls inside a file to its own functions pass through no table: own_allocators.hpp is for those, and where it cannot help, the
// supervisor says so. Calls of a file's constructors, which run before its tables are looked at, stay unseen.
#pragma once

namespace memtoll {

struct ThreadState;

// Once, at start: finds out which functions the executable overrides, and patches what is loaded so far.
void patch_imports_if_overridden();

// Whether what dlopen with this mode, or dlmopen, is about to load may have to be patched.
bool may_bind_elsewhere(int mode, bool in_namespace);

// The thread is about to load files. Behind each of these stands one of the next two.
struct Load {
    unsigned long long before; // how many files were ever loaded until then
    int mode;
};
Load begin_load(int mode);
// They are loaded: the loader has returned `library`, which for glibc and musl is its own link_map. Whether it is in a namespace of its
// own.
void end_load(const Load& load, const void* library, bool in_namespace);
// They will be, by a function that the recorder jumps to: with the thread's next hook, allocators in them are redirected and,
// where `binds_elsewhere` says that it may be due, their import tables are patched.
void expect_new_files(ThreadState* state, const Load& load, bool binds_elsewhere);

} // namespace memtoll
