// For executables that define malloc themselves (rustc carries its own jemalloc): symbol look-up finds that definition
// before the preloaded one, so no hook would ever be called. Then the import tables of all other loaded files are
// patched: their calls go to hooks that forward to the executable's functions.
//
// Those may go on to the next ones (dlsym(RTLD_NEXT)), which are the recorder's exported hooks. That is why each hook exists
// twice (MEMTOLL_EVENT_HOOK): who called it could not be told from a return address, since any library's function may end
// with a jump.
//
// Calls inside the executable to its own functions do not pass through any table and stay unseen; the supervisor says
// so.
#pragma once

namespace memtoll {

struct ThreadState;

// Once, at start: finds out which functions are overridden, and patches what is loaded so far.
void patch_imports_if_overridden();

// The thread is about to load a file, which may have to be patched too.
void expect_new_imports(ThreadState* state);

} // namespace memtoll
