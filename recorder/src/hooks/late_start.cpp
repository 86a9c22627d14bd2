// Where the recorder starts in a process that was running already: memtoll attach has loaded it.
//
// No import table leads to its hooks then. Every function that a preloaded recorder interposes is redirected instead, where it is
// defined: so calls of libraries that come later are seen as well, those through pointers, and those inside the C library.
#include "own_allocators.hpp"
#include "process_exit.hpp"
#include "../dynamic_section.hpp"
#include "../recording.hpp"
#include "../threads/state_pool.hpp"
#include "scope.hpp"

using namespace memtoll;

namespace {

constexpr unsigned kInterposed = 0
#define HOOK(name, symbol, type) +1
#include "hooks.def"
    ;

// The supervisor reads it.
constinit wire::Interposed interposed[kInterposed] = {};

int read_own_dynamic(dl_phdr_info* info, size_t, void* dynamic) {
    return is_in_file(*info, reinterpret_cast<uintptr_t>(&interposed)) && read_dynamic(*info, *static_cast<Dynamic*>(dynamic));
}

// The functions that are to be redirected, each once. How many there are.
size_t list_interposed() {
    constexpr char kNames[] =
#define HOOK(name, symbol, type) symbol "\0"
#include "hooks.def"
        ;
    constexpr uint32_t kKinds[] = {
#define EVENT(number, name, symbol, function, effect, type) number,
#define SILENT(name, symbol, type) 0,
#include "hooks.def"
    };
    Wanted functions[kInterposed];
    find_symbols(kNames, functions, kInterposed, Where::kAfterRecorder);
    Dynamic own;
    dl_iterate_phdr(read_own_dynamic, &own);
    size_t count = 0;
    for (unsigned i = 0; i < kInterposed; ++i) {
        const auto function = reinterpret_cast<uint64_t>(functions[i].found);
        const auto hook = reinterpret_cast<uint64_t>(definition(own, functions[i]));
        bool is_new = function && hook;
        for (size_t known = 0; known < count; ++known) is_new &= interposed[known].function != function;
        if (is_new) interposed[count++] = {function, functions[i].bytes, hook, kKinds[i], 0};
    }
    return count;
}

} // namespace

extern "C" {
// Protected: the entry below reaches it without a table.
constinit __attribute__((visibility("protected"), used)) wire::AttachOrder memtoll_recorder_order{};
}
static_assert(offsetof(wire::AttachOrder, is_busy) == 4 && offsetof(wire::AttachOrder, is_given) == 8 &&
              offsetof(wire::AttachOrder, is_done) == 12 && offsetof(wire::AttachOrder, result) == 16 && wire::kNoMemoryForStack == 2); // the entry writes there

namespace {

wire::AttachResult prepare(wire::AttachResult connected) {
    if (connected != wire::kAttached) return connected;
    const uint32_t made_for = state_pool::most_stack_depth();
    memtoll_recorder_order.most_stack_depth = made_for > 0 ? made_for : session.arena->stack_depth;
    prepare_redirections({interposed, list_interposed()});
    expect_end();
    return wire::kAttached;
}

} // namespace

void memtoll::expect_attach() {
    memtoll_recorder_order.is_busy.store(1, std::memory_order_relaxed);
    memtoll_recorder_order.is_loaded.store(1, std::memory_order_release);
}

// Called once, by a thread that the supervisor has brought here. `directory`: the private directory of its run. kAttached: all is
// prepared, and the supervisor may write the jumps.
MEMTOLL_HOOK int memtoll_recorder_attach(const char* directory) {
    loaded_late = true;
    session.set_directory(directory);
    need_next();
    const wire::AttachResult result = prepare(recording() ? wire::kAttached : wire::kUnreachable);
    memtoll_recorder_order.is_busy.store(0, std::memory_order_release);
    return result;
}

// The same for each later supervisor, whose directory stands in the order.
extern "C" __attribute__((visibility("hidden"), used)) int memtoll_carry_out_order() {
    find_next(); // libraries have come and gone
    return prepare(record_again(memtoll_recorder_order.directory));
}
MEMTOLL_ATTACH_ENTRY(memtoll_recorder_attach_again, memtoll_carry_out_order, memtoll_recorder_order);
