// malloc and free, alone and with a rival.
#include "../../recorder/src/arch/arch.hpp"
#include "../common/clock.hpp"
#include "../common/threads.hpp"
#include "operations.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <malloc.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace memtoll::machine {

namespace {

constexpr size_t kSmall = 64;
// Blocks of this size are too large for the per-thread cache of the GNU C library (1,032 bytes): each call takes the
// arena's lock.
constexpr size_t kLocked = 2048;
constexpr size_t kSamples = 15;
constexpr size_t kPairs = 64;

void make(void*& block, size_t bytes) {
    block = std::malloc(bytes);
    asm volatile("" : : "r"(block) : "memory"); // or the compiler leaves malloc and free out
}

// Nanoseconds of a malloc and the free of what it returned.
double pair_ns(double stamp) {
    const double begin = thread_cpu_ns();
    for (size_t i = 0; i < kPairs; ++i) {
        void* block;
        make(block, kSmall);
        std::free(block);
    }
    return (thread_cpu_ns() - begin - stamp) / kPairs;
}

// As the recorder calls them.
void* (*volatile real_malloc)(size_t) = std::malloc;
void (*volatile real_free)(void*) = std::free;
std::atomic<uint64_t> real_call_done;

// Nanoseconds that two readings of the processor's counter, and what the recorder does between them, add to a short call:
// what the call then takes by the counter, less what it takes when nobody looks. More than two readings without a call,
// because the processor overlaps a call with what stands around it, and cannot do so across a reading. Where the block
// lies makes a difference: callers should try several sizes.
double stamps_ns(size_t bytes) {
    constexpr size_t kPairsOfBatch = 256;
    const double wall_begin = wall_ns();
    const uint64_t begin = arch::ticks();
    for (size_t i = 0; i < kPairsOfBatch; ++i) {
        void* block;
        make(block, bytes);
        std::free(block);
    }
    const uint64_t alone = arch::ticks() - begin;

    uint64_t inside = 0;
    for (size_t i = 0; i < kPairsOfBatch; ++i) {
        const uint64_t take = arch::ticks();
        void* const block = real_malloc(bytes);
        real_call_done.store(take, std::memory_order_relaxed);
        inside += arch::ticks() - take;
        const uint64_t give = arch::ticks();
        real_free(block);
        real_call_done.store(give, std::memory_order_relaxed);
        inside += arch::ticks() - give;
    }
    const auto ticks = static_cast<double>(arch::ticks() - begin);
    const double longer = static_cast<double>(inside) - static_cast<double>(alone);
    return longer * (wall_ns() - wall_begin) / ticks / (2 * kPairsOfBatch);
}

// Where two threads meet, and which they leave at the same time. The first sleeps, if it must wait for long: the second
// may need its processor.
class MeetingPoint {
public:
    // False, to both, if one of them does not come in time.
    bool meet() {
        uint32_t seen = kNobody;
        if (state_.compare_exchange_strong(seen, kOneWaits)) {
            spin_while(kOneWaits, 300);
            while (state_.load(std::memory_order_acquire) == kOneWaits)
                if (!sleep_while(kOneWaits) && errno == ETIMEDOUT)
                    break;
            seen = kBothHere;
            return state_.compare_exchange_strong(seen, kMet);
        }
        state_.store(kBothHere, std::memory_order_release);
        syscall(SYS_futex, &state_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
        spin_while(kBothHere, 5000);
        seen = kBothHere;
        return !state_.compare_exchange_strong(seen, kLeft);
    }

private:
    enum : uint32_t { kNobody, kOneWaits, kBothHere, kMet, kLeft };
    std::atomic<uint32_t> state_{kNobody};

    void spin_while(uint32_t state, int tries) {
        while (tries-- > 0 && state_.load(std::memory_order_acquire) == state)
            arch::relax();
    }

    bool sleep_while(uint32_t state) {
        const timespec longest{0, 20'000'000};
        return syscall(SYS_futex, &state_, FUTEX_WAIT_PRIVATE, state, &longest, nullptr, 0) == 0;
    }
};

// Two threads that allocate from one arena and free each other's blocks, at the same time: every call needs a lock and
// data that the other processor had last. In every round each thread takes kPairs blocks, and frees the rival's of the
// round before.
struct Rivals {
    static constexpr size_t kWarmUp = 4;
    // Where the processors are busy with others, the two do not meet every time.
    static constexpr size_t kMeetings = 40;
    static constexpr double kBudgetNs = 1.5e6; // of CPU time, a thread

    MeetingPoint meetings[kMeetings];
    std::atomic<bool> over;
    void* blocks[2][2][kPairs]; // by thread, by parity of the round
    Series own[2];
    double stamp;

    void compete(size_t me) {
        const double deadline = thread_cpu_ns() + kBudgetNs;
        size_t round = 0;
        for (MeetingPoint& start : meetings) {
            if (round == kWarmUp + kSamples || thread_cpu_ns() > deadline || over.load(std::memory_order_relaxed))
                break;
            if (!start.meet())
                continue;
            void** take = blocks[me][round % 2];
            void** give = blocks[1 - me][1 - round % 2];
            const double begin = thread_cpu_ns();
            for (size_t i = 0; i < kPairs; ++i) {
                make(take[i], kLocked);
                std::free(give[i]);
            }
            const double end = thread_cpu_ns();
            if (round++ >= kWarmUp)
                own[me].add((end - begin - stamp) / kPairs);
        }
        over.store(true, std::memory_order_relaxed);
    }
};

// Moves the calling thread to the processor number `index` of those it may use. False if there are fewer.
bool move_to_processor(size_t index) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)
        return false;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &allowed) || index-- != 0)
            continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        return sched_setaffinity(0, sizeof one, &one) == 0;
    }
    return false;
}

void compete(void* context, size_t index) {
    Rivals& rivals = *static_cast<Rivals*>(context);
    if (move_to_processor(index))
        rivals.compete(index);
    else
        rivals.over.store(true, std::memory_order_relaxed);
}

} // namespace

Series* measure_allocator(Series* into) {
    Series& alone = into[0] = {"malloc_free", 0, {}};
    Series& contended = into[1] = {"malloc_free_contended", 0, {}};
    Series& stamps = into[2] = {"stamps", 0, {}};
    const double stamp = empty_span_ns(thread_cpu_ns);
    pair_ns(stamp);
    for (size_t i = 0; i < kSamples; ++i)
        alone.add(pair_ns(stamp));
    stamps_ns(kSmall);
    for (size_t i = 0; i < kSamples; ++i)
        stamps.add(stamps_ns(48 * (i + 1)));

    static Rivals rivals{};
    rivals.stamp = stamp;
    mallopt(M_ARENA_MAX, 1);             // both need the same lock
    mallopt(M_TRIM_THRESHOLD, 64 << 20); // no faults on memory that was given back
    if (in_threads(2, compete, &rivals))
        for (const Series& one : rivals.own)
            for (size_t i = 0; i < one.samples; ++i)
                contended.add(one.ns[i]);
    return into + 3;
}

} // namespace memtoll::machine
