// Where the recorder starts, and the marks that it writes down for memtoll.h.
#include "process_exit.hpp"
#include "import_patching.hpp"
#include "own_allocators.hpp"
#include "../recording.hpp"
#include "scope.hpp"

#include <cstring>

using namespace memtoll;

namespace {

// The first event usually comes earlier than this, from the loader or another library's constructor, and starts the
// session itself.
[[gnu::constructor]] void start() {
    if (!session.find_directory()) return expect_attach();
    need_next();
    if (!recording()) return;
    redirect_own_allocators();
    patch_imports_if_overridden();
    expect_end();
}

} // namespace

// Called by memtoll.h.
MEMTOLL_HOOK void memtoll_recorder_mark(int type, const char* name) {
    HookScope scope(MEMTOLL_FRAME());
    if (!scope) return;
    scope.no_call();
    const wire::MarkBlob blob{static_cast<uint32_t>(type), 0};
    append_blob(scope.log(), wire::kMark, &blob, sizeof blob, name, strlen(name));
    // The supervisor looks at the pages, the sooner the better.
    if (type != wire::MarkBlob::kBegin) wake_supervisor();
}
