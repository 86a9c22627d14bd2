// Where the recorder starts, and the marks that it writes down for memtoll.h.
#include "imports.hpp"
#include "../usage.hpp"
#include "scope.hpp"

#include <cstdlib>
#include <cstring>

using namespace memtoll;

namespace {

// For kernels that do not tell the supervisor how a process ended. Registered first, so it runs last.
void record_exit(int status, void*) {
    const uintptr_t frame = MEMTOLL_FRAME();
    ThreadState* state = begin_hook(frame);
    if (!state) return;
    no_real_call(state, frame);
    const uint64_t time = now();
    append(state, wire::kExit, time, time, static_cast<uint64_t>(status), 0, 0);
    publish(state);
    append_usage(state, wire::UsageBlob::kThread);
    append_usage(state, wire::UsageBlob::kProcess);
    publish_statistics(state);
    leave(state);
}

// The first event usually comes earlier than this, from the loader or another library's constructor, and starts the
// session itself.
[[gnu::constructor]] void start() {
    need_next();
    if (!session.ready()) return;
    patch_imports_if_overridden();
    on_exit(record_exit, nullptr);
}

} // namespace

// Called by memtoll.h.
MEMTOLL_HOOK void memtoll_recorder_mark(int type, const char* name) {
    const uintptr_t frame = MEMTOLL_FRAME();
    ThreadState* state = begin_hook(frame);
    if (!state) return;
    no_real_call(state, frame);
    const wire::MarkBlob blob{static_cast<uint32_t>(type), 0};
    append_blob(state, wire::kMark, &blob, sizeof blob, name, strlen(name));
    leave(state);
}
