// A program that limits its address space, or locks all of it into memory, means its own. Most of the recorder's is only
// reserved, for more threads and call paths than most programs have: that part is given back.
#include "scope.hpp"

using namespace memtoll;

namespace {

// Of <sys/resource.h>, whose declarations say rlimit where these hooks, for both names of each function, say two numbers.
constexpr int kAddressSpace = 9; // RLIMIT_AS
constexpr int kData = 2;         // RLIMIT_DATA, which comprises private memory

// In a forked child, the arena is its own from here on: later there may be no room for one.
[[gnu::noinline]] void expect_arena(arch::HookFrame frame) {
    HookScope scope(frame);
    if (scope) scope.no_call();
}

[[gnu::noinline]] void give_back_addresses(arch::HookFrame frame) {
    HookScope scope(frame);
    if (!scope) return;
    scope.no_call();
    session.give_back_addresses();
}

// Makes the call `set` for a limit: the soft and the hard one. One that fails changes nothing.
template <class Set>
[[gnu::always_inline]] inline int limit_by(arch::HookFrame frame, int resource, const uint64_t* limit, Set set) {
    need_next();
    const bool is_of_memory = (resource == kAddressSpace || resource == kData) && limit && *limit != UINT64_MAX;
    if (is_of_memory) expect_arena(frame);
    const int result = set();
    if (is_of_memory && result == 0) give_back_addresses(frame);
    return result;
}

template <class Set>
[[gnu::always_inline]] inline int limit_by(arch::HookFrame frame, pid_t pid, int resource, const uint64_t* limit, Set set) {
    const bool own = pid == 0 || static_cast<uint32_t>(pid) == session.process_id();
    return limit_by(frame, resource, own ? limit : nullptr, set);
}

} // namespace

MEMTOLL_HOOK int setrlimit(int resource, const uint64_t* limit) noexcept {
    return limit_by(MEMTOLL_FRAME(), resource, limit, [=] { return next.setrlimit(resource, limit); });
}

MEMTOLL_HOOK int setrlimit64(int resource, const uint64_t* limit) noexcept {
    return limit_by(MEMTOLL_FRAME(), resource, limit, [=] { return next.setrlimit64(resource, limit); });
}

MEMTOLL_HOOK int prlimit(pid_t pid, int resource, const uint64_t* limit, uint64_t* old) noexcept {
    return limit_by(MEMTOLL_FRAME(), pid, resource, limit, [=] { return next.prlimit(pid, resource, limit, old); });
}

MEMTOLL_HOOK int prlimit64(pid_t pid, int resource, const uint64_t* limit, uint64_t* old) noexcept {
    return limit_by(MEMTOLL_FRAME(), pid, resource, limit, [=] { return next.prlimit64(pid, resource, limit, old); });
}

// Before the call: it brings all that is mapped into memory.
MEMTOLL_HOOK int mlockall(int flags) noexcept {
    need_next();
    give_back_addresses(MEMTOLL_FRAME());
    return next.mlockall(flags);
}
