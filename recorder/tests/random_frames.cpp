#include "random_frames.hpp"

#include <alloca.h>
#include <cstdlib>
#include <unwind.h>

namespace memtoll::unwind::walks {
namespace {

struct Reference {
    uintptr_t above; // frames whose CFA is not above this one belong to the test's own functions
    std::vector<uintptr_t> addresses;
};

_Unwind_Reason_Code collect(_Unwind_Context* context, void* out) {
    auto& reference = *static_cast<Reference*>(out);
    int before = 0;
    const uintptr_t address = _Unwind_GetIPInfo(context, &before);
    if (_Unwind_GetCFA(context) <= reference.above && reference.addresses.empty()) return _URC_NO_REASON;
    if (address) reference.addresses.push_back(before ? address : address - 1);
    return _URC_NO_REASON;
}

[[gnu::noinline]] void plain(unsigned levels) {
    descend(levels);
    asm volatile("");
}

[[gnu::noinline]] void large_frame(unsigned levels) {
    char room[5000];
    keep(room);
    descend(levels);
    keep(room);
}

[[gnu::noinline]] void with_alloca(unsigned levels) {
    void* room = alloca(16 + choice->below(300));
    keep(room);
    descend(levels);
    keep(room);
}

// alloca of a different size each time round, so that the frame changes while the return address does not.
[[gnu::noinline]] void with_growing_alloca(unsigned levels) {
    for (unsigned i = 0; i < 3; ++i) {
        void* room = alloca(16 * (1 + choice->below(8)));
        keep(room);
        descend(levels);
    }
    asm volatile("");
}

[[gnu::noinline]] void realigned(unsigned levels) {
    alignas(64) char room[64];
    keep(room);
    descend(levels);
    keep(room);
}

[[gnu::noinline]] void realigned_with_alloca(unsigned levels) {
    alignas(128) char room[128];
    void* more = alloca(16 + choice->below(100));
    keep(room);
    keep(more);
    descend(levels);
    keep(room);
}

[[gnu::noinline]] int many_registers(unsigned levels, int a, int b, int c, int d, int e, int f, int g) {
    const int p = a * b, q = b * c, r = c * d, s = d * e, t = e * f, u = f * g;
    descend(levels);
    return p ^ q ^ r ^ s ^ t ^ u;
}

[[gnu::noinline, gnu::optimize("no-omit-frame-pointer")]] void framed(unsigned levels) {
    descend(levels);
    asm volatile("");
}

[[gnu::noinline]] void tail_call(unsigned levels) { return plain(levels); }

void in_library(unsigned levels) {
    // Through libc's frames: only the first comparison goes deeper.
    static thread_local unsigned deeper;
    unsigned* const at = &deeper;
    deeper = levels + 1;
    int numbers[] = {3, 1, 2};
    qsort(numbers, 3, sizeof *numbers, [](const void* a, const void* b) {
        const unsigned left = deeper;
        deeper = 0;
        if (left > 0) descend(left - 1);
        return *static_cast<const int*>(a) - *static_cast<const int*>(b);
    });
    *at = 0;
}

[[gnu::noinline]] void in_catch(unsigned levels) {
    try {
        throw levels;
    } catch (unsigned caught) {
        descend(caught);
    }
}

} // namespace

[[gnu::noinline]] void check() {
    const arch::CallerFrame caller = arch::caller_frame(MEMTOLL_FRAME());
    last_return_slot = caller.return_slot;
    const uint32_t node = walker->cache.node(caller);
    const uint32_t again = walker->cache.node(caller);
    uint32_t root;
    const std::vector<uintptr_t> stack = walker->path(node, root);
    // libgcc gives a frame the CFA of its callee: that of the innermost frame wanted is where this call began.
    Reference reference{caller.return_slot, {}};
    _Unwind_Backtrace(collect, &reference);
    ++checked;
    if (root != wire::kRootComplete) ++truncated;
    ASSERT_EQ(node, again) << "the second look found another stack";
    ASSERT_EQ(stack, reference.addresses);
    ASSERT_EQ(stack.empty() ? 0 : stack.front(), caller.return_address - 1);
}

void descend(unsigned levels) {
    if (testing::Test::HasFatalFailure()) return;
    if (levels == 0) return check();
    --levels;
    switch (choice->below(11)) {
    case 0: return with_alloca(levels);
    case 1: large_frame(levels); break;
    case 2: realigned(levels); break;
    case 3: realigned_with_alloca(levels); break;
    case 4: many_registers(levels, 1, 2, 3, 4, 5, 6, 7); break;
    case 5: framed(levels); break;
    case 6: tail_call(levels); break;
    case 7: in_library(levels); break;
    case 8: if (levels < 6) with_growing_alloca(levels); else plain(levels); break;
    case 9: if (choice->one_in(8)) in_catch(levels); else plain(levels); break;
    default: plain(levels);
    }
    asm volatile("");
}

} // namespace memtoll::unwind::walks
