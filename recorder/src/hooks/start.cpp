// Where the recorder starts, and the marks that it writes down for memtoll.h.
#include "imports.hpp"
#include "../recording.hpp"
#include "../threads/thread_life.hpp"
#include "../usage.hpp"
#include "scope.hpp"

#include <cstdlib>
#include <cstring>

using namespace memtoll;

namespace {

// For kernels that do not tell the supervisor how a process ended. Registered first, so it runs last.
void record_exit(int status, void*) {
    HookScope scope(MEMTOLL_FRAME());
    if (!scope) return;
    scope.no_call();
    const uint64_t time = now();
    append(scope.log(), wire::kExit, time, time, static_cast<uint64_t>(status), 0, 0);
    publish(scope.log());
    append_usage(scope.log(), wire::UsageBlob::kThread);
    append_usage(scope.log(), wire::UsageBlob::kProcess);
    publish_statistics(scope.state());
}

// The first event usually comes earlier than this, from the loader or another library's constructor, and starts the
// session itself.
[[gnu::constructor]] void start() {
    need_next();
    if (!recording()) return;
    patch_imports_if_overridden();
    on_exit(record_exit, nullptr);
}

} // namespace

// Called by memtoll.h.
MEMTOLL_HOOK void memtoll_recorder_mark(int type, const char* name) {
    HookScope scope(MEMTOLL_FRAME());
    if (!scope) return;
    scope.no_call();
    const wire::MarkBlob blob{static_cast<uint32_t>(type), 0};
    append_blob(scope.log(), wire::kMark, &blob, sizeof blob, name, strlen(name));
}
