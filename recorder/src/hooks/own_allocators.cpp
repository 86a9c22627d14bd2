#include "own_allocators.hpp"

#include "../kernel.hpp"
#include "forks.hpp"
#include "scope.hpp"

#include <cstring>
#include <fcntl.h>

extern "C" {
void memtoll_recorder_mark(int type, const char* name);
void memtoll_recorder_alloc(const void* block, size_t bytes);
void memtoll_recorder_free(const void* block);
void memtoll_recorder_realloc(const void* old, const void* block, size_t bytes);
void memtoll_recorder_pool_begin(const char* name, const void* chunk, size_t bytes);
void memtoll_recorder_pool_end(const void* chunk);
}

namespace memtoll {
namespace {

using Word = uint64_t;
using wire::Redirected;

uint64_t allocator_bits(const Redirected& what) { return uint64_t{what.allocator} << wire::kAllocatorShift; }

// What a hook's arguments say of an allocation, as the size field of a record has it.
template <size_t kCount> [[gnu::always_inline]] inline uint64_t size_of_request(const Redirected& what, const Word (&arguments)[kCount]) {
    const auto argument = [&](uint8_t index) { return arguments[index < kCount ? index : 0]; };
    uint64_t size = argument(what.size);
    if (what.count != wire::kNoArgument && __builtin_mul_overflow(size, argument(what.count), &size)) size = wire::kSizeMask;
    uint64_t alignment = 0;
    if (what.flags != wire::kNoArgument) alignment = argument(what.flags) & 63;
    else if (what.alignment != wire::kNoArgument) alignment = log2_of(argument(what.alignment));
    return (size & wire::kSizeMask) | alignment << wire::kDetailShift | allocator_bits(what);
}

template <size_t kCount> [[gnu::always_inline]] inline Word call_original(const Redirected& what, const Word (&a)[kCount]) {
    if constexpr (kCount == 3) return reinterpret_cast<Word (*)(Word, Word, Word)>(what.original)(a[0], a[1], a[2]);
    else return reinterpret_cast<Word (*)(Word, Word, Word, Word, Word)>(what.original)(a[0], a[1], a[2], a[3], a[4]);
}

// The body of a hook, inlined into it: calls the original, and has `record` write down what it returned.
template <size_t kCount, class Record>
[[gnu::always_inline]] inline Word recorded(const Redirected& what, const Word (&arguments)[kCount], uint64_t bits,
                                            Record record) {
    HookScope scope(MEMTOLL_FRAME(), bits);
    if (!scope) [[unlikely]]
        return call_original(what, arguments);
    scope.begin_call();
    const Word result = call_original(what, arguments);
    scope.end_call();
    record(scope, result);
    publish(scope.log());
    return result;
}

// What a call writes down whose result is a block, or leads to one.
template <size_t kCount>
[[gnu::always_inline]] inline void append_request(HookScope& scope, const Redirected& what, const Word (&arguments)[kCount],
                                                  Word block) {
    scope.append_call(static_cast<HookKind>(what.kind), block, size_of_request(what, arguments), scope.stack_node());
}

template <size_t kCount> [[gnu::always_inline]] inline Word acquired(const Redirected& what, const Word (&arguments)[kCount]) {
    return recorded(what, arguments, wire::kCountsAtEnd,
                    [&](HookScope& scope, Word block) { append_request(scope, what, arguments, block); });
}

// -- the hooks, whose last argument comes from the stub ---------------------------------------------------------------
// Exceptions pass through them, as they do through operator new.

Word own_acquire(Word a, Word b, Word c, Word, Word, const Redirected* what) { return acquired(*what, {a, b, c}); }

Word own_acquire_wide(Word a, Word b, Word c, Word d, Word e, const Redirected* what) {
    return acquired(*what, {a, b, c, d, e});
}

Word own_reallocate(Word a, Word b, Word c, Word d, Word e, const Redirected* what) {
    const Word arguments[] = {a, b, c, d, e};
    return recorded(*what, arguments, 0, [&](HookScope& scope, Word result) {
        const uint32_t node = scope.stack_node();
        const Word block = arguments[what->block < 5 ? what->block : 0];
        const uint64_t size = size_of_request(*what, arguments);
        // As for realloc (c_allocation.cpp).
        if (block && (result || (size & wire::kSizeMask) == 0))
            append(scope.log(), wire::kReallocFrom, scope.began(), scope.began(), block, allocator_bits(*what), node);
        scope.append_call(static_cast<HookKind>(what->kind), result, size, node);
    });
}

// Most functions return nothing, some their argument.
Word own_release(Word a, Word b, Word c, Word, Word, const Redirected* what) {
    const Word arguments[] = {a, b, c};
    return recorded(*what, arguments, 0, [&](HookScope& scope, Word) {
        const Word block = arguments[what->block < 3 ? what->block : 0];
        scope.append_call(static_cast<HookKind>(what->kind), block, allocator_bits(*what), scope.stack_node());
    });
}

Word own_posix_memalign(Word a, Word b, Word c, Word, Word, const Redirected* what) {
    const Word arguments[] = {a, b, c};
    return recorded(*what, arguments, wire::kCountsAtEnd, [&](HookScope& scope, Word result) {
        append_request(scope, *what, arguments, static_cast<int>(result) == 0 ? *reinterpret_cast<const Word*>(a) : 0);
    });
}

// size_t xallocx(void* block, size_t size, size_t extra, int flags): to size + extra or, failing that, to at least size.
Word own_xallocx(Word a, Word b, Word c, Word d, Word e, const Redirected* what) {
    return recorded<5>(*what, {a, b, c, d, e}, 0, [&](HookScope& scope, Word now) {
        if (now < b) return; // nothing has changed
        const uint32_t node = scope.stack_node();
        const Word most = b + c;
        const Word size = most < now ? most : now;
        append(scope.log(), wire::kReallocFrom, scope.began(), scope.began(), a, allocator_bits(*what), node);
        const uint64_t detail = (d & 63) << wire::kDetailShift | allocator_bits(*what);
        scope.append_call(static_cast<HookKind>(what->kind), a, (size & wire::kSizeMask) | detail, node);
    });
}

// -- placing ---------------------------------------------------------------------------------------------------------

// What has been redirected, for original_of(). Beyond that, hooks of import tables come through the jump.
struct Moved {
    uint64_t entry = 0, original = 0;
};
constexpr unsigned kMaxMoved = 512;
constinit Moved moved[kMaxMoved];
constinit std::atomic<uint32_t> moved_count{0};
// The process that is at it, by its id; a forked child may inherit another one's. A futex.
constinit std::atomic<uint32_t> placing{0};

// Waits until no other thread of this process is at it: what that one found may be less than what is loaded by now. False: it is at
// it for longer than it may be, or was interrupted by the signal handler that asks.
bool begin_placing() {
    constexpr long kMilliseconds = 10;
    constexpr unsigned kMost = 2500;
    const uint32_t own = session.process_id();
    for (unsigned i = 0; i < kMost; ++i) {
        uint32_t seen = placing.load(std::memory_order_relaxed);
        if (seen != own && placing.compare_exchange_strong(seen, own, std::memory_order_acquire)) return true;
        kernel::futex_wait(placing, own, kMilliseconds);
        if (kernel::silent.load(std::memory_order_relaxed)) break;
    }
    return false;
}

void end_placing() {
    placing.store(0, std::memory_order_release);
    kernel::futex_wake(placing, INT32_MAX);
}

Moved* find_moved(uint64_t entry) {
    const uint32_t count = moved_count.load(std::memory_order_acquire);
    for (uint32_t i = 0; i < count; ++i)
        if (moved[i].entry == entry) return &moved[i];
    return nullptr;
}

void note_moved(uint64_t entry, uint64_t original) {
    // Of a library that was unloaded, and loaded again where it was.
    if (Moved* known = find_moved(entry)) {
        known->original = original;
        return;
    }
    const uint32_t index = moved_count.load(std::memory_order_relaxed);
    if (index == kMaxMoved) return;
    moved[index] = {entry, original};
    moved_count.store(index + 1, std::memory_order_release);
}

class OwnMemory {
public:
    OwnMemory() : file_(kernel::call(SYS_openat, AT_FDCWD, reinterpret_cast<long>("/proc/self/mem"), O_WRONLY | O_CLOEXEC)) {}
    ~OwnMemory() {
        if (!kernel::failed(file_)) kernel::call(SYS_close, file_);
    }
    OwnMemory(const OwnMemory&) = delete;

    // Code stays readable and executable meanwhile, and no more: no page is ever writable and executable.
    bool write(uint64_t at, const uint8_t* bytes, uint32_t count) const {
        if (kernel::failed(file_)) return false;
        return kernel::call(SYS_pwrite64, file_, reinterpret_cast<long>(bytes), count, static_cast<long>(at)) == count;
    }

private:
    long file_;
};

bool is_as_planned(const wire::PlanFunction& function) {
    return function.bytes <= wire::kMostPatched && memcmp(reinterpret_cast<const void*>(function.at), function.before, function.bytes) == 0;
}

// `memory`: that of this process, for the jumps; null: they are the supervisor's to write.
wire::Placed place(const OwnMemory* memory, const wire::PlanRegion& region, const wire::PlanFunction* functions, long file) {
    for (uint32_t i = 0; i < region.functions; ++i) {
        if (is_as_planned(functions[i])) continue;
        return find_moved(functions[i].entry) ? wire::kPlacedBefore : wire::kOtherCode;
    }
    for (uint32_t i = 0; i < region.functions; ++i)
        if (functions[i].pushes_return && arch::has_shadow_stack()) return wire::kShadowStack;
    const auto address = static_cast<long>(region.address);
    const long mapped = region.offset == 0 ? address : kernel::call(SYS_mmap, address, static_cast<long>(region.bytes), PROT_READ | PROT_EXEC,
                                     MAP_PRIVATE | MAP_FIXED_NOREPLACE, file, static_cast<long>(region.offset));
    if (kernel::failed(mapped)) return wire::kNoMemory;
    if (mapped != address) { // a kernel before 4.17
        kernel::unmap(reinterpret_cast<void*>(mapped), region.bytes);
        return wire::kNoMemory;
    }
    for (uint32_t i = 0; memory && i < region.functions; ++i) {
        if (memory->write(functions[i].at, functions[i].after, functions[i].bytes)) continue;
        // All or nothing: where a block's release is seen, its allocation must be, too.
        while (i-- > 0) memory->write(functions[i].at, functions[i].before, functions[i].bytes);
        kernel::unmap(reinterpret_cast<void*>(region.address), region.bytes);
        return wire::kNotWritable;
    }
    for (uint32_t i = 0; i < region.functions; ++i) note_moved(functions[i].entry, functions[i].original);
    return wire::kPlaced;
}

// Hooks that import tables lead to go on behind the jump: they are hooks themselves.
void go_on_behind_jumps(Next& table) {
    const auto move = [](auto*& function) {
        if (void* original = function ? original_of((const void*)function) : nullptr)
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(original);
    };
#define HOOK(name, symbol, type) move(table.name);
#include "hooks.def"
}

} // namespace

void* original_of(const void* function) {
    const Moved* known = find_moved(reinterpret_cast<uint64_t>(function));
    return known ? reinterpret_cast<void*>(known->original) : nullptr;
}

namespace {

// What memtoll.h calls, by its name.
void* find_for_program(const char* name) {
    const struct {
        const char* name;
        void* function;
    } kFunctions[] = {
#define FUNCTION(NAME) {#NAME, reinterpret_cast<void*>(NAME)}
        FUNCTION(memtoll_recorder_mark),      FUNCTION(memtoll_recorder_alloc),    FUNCTION(memtoll_recorder_free),
        FUNCTION(memtoll_recorder_realloc),   FUNCTION(memtoll_recorder_pool_begin), FUNCTION(memtoll_recorder_pool_end),
#undef FUNCTION
    };
    for (const auto& one : kFunctions)
        if (strcmp(one.name, name) == 0) return one.function;
    return nullptr;
}

// Whether another plan may do better: what was free when this one was made was taken by another thread meanwhile.
bool place_plan(const uint64_t (&hooks)[wire::kOwnHooks], const Interposing& interposing, uint64_t& waited) {
    const uint64_t since = now();
    const Session::Plan plan = session.ask_for_plan(hooks, interposing.functions, interposing.count, loaded_late ? reinterpret_cast<uint64_t>(find_for_program) : 0);
    waited += now() - since;
    constexpr uint32_t kMaxRegions = 256;
    wire::Placed placed[kMaxRegions];
    uint32_t regions = 0;
    bool again = false;
    if (plan.content) {
        const auto* header = reinterpret_cast<const wire::PlanHeader*>(plan.content);
        const auto* region = reinterpret_cast<const wire::PlanRegion*>(header + 1);
        const auto* functions = reinterpret_cast<const wire::PlanFunction*>(region + header->regions);
        const OwnMemory memory;
        const ForkOrJumps writing(ForkOrJumps::kWritesJumps);
        for (; regions < header->regions && regions < kMaxRegions; ++regions) {
            const OwnMemory* jumps = interposing.count == 0 ? &memory : nullptr;
            placed[regions] = place(jumps, region[regions], functions + region[regions].first_function, plan.file);
            again |= placed[regions] == wire::kNoMemory;
        }
        go_on_behind_jumps(next);
        go_on_behind_jumps(overridden);
    }
    session.end_plan(plan, placed, regions);
    return again;
}

uint64_t redirect(const Interposing& interposing) {
    // Valgrind runs translations of code, and takes it that files' code does not change.
    if (arch::valgrind_depth() > 0 || !begin_placing()) return 0;
    uint64_t hooks[wire::kOwnHooks];
    hooks[wire::kOwnAcquire] = reinterpret_cast<uint64_t>(own_acquire);
    hooks[wire::kOwnAcquireWide] = reinterpret_cast<uint64_t>(own_acquire_wide);
    hooks[wire::kOwnReallocate] = reinterpret_cast<uint64_t>(own_reallocate);
    hooks[wire::kOwnRelease] = reinterpret_cast<uint64_t>(own_release);
    hooks[wire::kOwnPosixMemalign] = reinterpret_cast<uint64_t>(own_posix_memalign);
    hooks[wire::kOwnXallocx] = reinterpret_cast<uint64_t>(own_xallocx);
    constexpr unsigned kMostPlans = 5;
    uint64_t waited = 0;
    for (unsigned i = 0; i < kMostPlans && place_plan(hooks, interposing, waited); ++i) {}
    end_placing();
    return waited;
}

} // namespace

uint64_t redirect_own_allocators() { return redirect({}); }

uint64_t prepare_redirections(const Interposing& interposing) { return redirect(interposing); }

} // namespace memtoll
