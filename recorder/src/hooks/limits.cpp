// A program that limits its address space, or locks all of it into memory, means its own. Most of the recorder's is only
// reserved, for more threads and call paths than most programs have: that part is given back before.
#include "scope.hpp"

using namespace memtoll;

namespace {

// Of <sys/resource.h>, whose declarations say rlimit where these hooks, for both names of each function, say two numbers.
constexpr int kAddressSpace = 9; // RLIMIT_AS
constexpr int kData = 2;         // RLIMIT_DATA, which comprises private memory

[[gnu::noinline]] void give_back_addresses(uintptr_t frame) {
    HookScope scope(frame); // in a forked child, the arena is its own from here on
    if (!scope) return;
    scope.no_call();
    session.give_back_addresses();
}

// `limit`: the soft and the hard one.
[[gnu::always_inline]] inline void before_limit(uintptr_t frame, int resource, const uint64_t* limit) {
    need_next();
    const bool is_of_memory = resource == kAddressSpace || resource == kData;
    if (is_of_memory && limit && *limit != UINT64_MAX) give_back_addresses(frame);
}

[[gnu::always_inline]] inline void before_limit(uintptr_t frame, pid_t pid, int resource, const uint64_t* limit) {
    const bool own = pid == 0 || static_cast<uint32_t>(pid) == session.process_id();
    before_limit(frame, resource, own ? limit : nullptr);
}

} // namespace

MEMTOLL_HOOK int setrlimit(int resource, const uint64_t* limit) noexcept {
    before_limit(MEMTOLL_FRAME(), resource, limit);
    return next.setrlimit(resource, limit);
}

MEMTOLL_HOOK int setrlimit64(int resource, const uint64_t* limit) noexcept {
    before_limit(MEMTOLL_FRAME(), resource, limit);
    return next.setrlimit64(resource, limit);
}

MEMTOLL_HOOK int prlimit(pid_t pid, int resource, const uint64_t* limit, uint64_t* old) noexcept {
    before_limit(MEMTOLL_FRAME(), pid, resource, limit);
    return next.prlimit(pid, resource, limit, old);
}

MEMTOLL_HOOK int prlimit64(pid_t pid, int resource, const uint64_t* limit, uint64_t* old) noexcept {
    before_limit(MEMTOLL_FRAME(), pid, resource, limit);
    return next.prlimit64(pid, resource, limit, old);
}

MEMTOLL_HOOK int mlockall(int flags) noexcept {
    need_next();
    give_back_addresses(MEMTOLL_FRAME());
    return next.mlockall(flags);
}
