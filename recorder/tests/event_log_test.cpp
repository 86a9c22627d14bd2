// The per-thread log: what a supervisor reads is what was appended, whatever the state of the chunks.
#include "arena.hpp"
#include "event_log.hpp"
#include "kernel.hpp"
#include "program_break.hpp"
#include "threads/gate.hpp"
#include "resource_usage.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <gtest/gtest.h>
#include <optional>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace memtoll {
namespace {

constexpr uint32_t kSlots = 8;
constexpr uint8_t kSomeKind = 1;

// An arena as the supervisor makes it, and the supervisor's way of reading it.
class EventLog : public testing::Test {
protected:
    void start(uint32_t max_chunks, uint32_t chunk_limit) {
        made_.emplace(kSlots, max_chunks, chunk_limit);
        arena_ = made_->header;
        ASSERT_NE(arena_, nullptr);
    }

    void TearDown() override { made_.reset(); }

    void give(ThreadState& state, uint32_t slot) {
        state.log.slot = session.slots() + slot;
        state.index = slot;
        state.mode = ThreadState::kReady;
    }

    static void push(std::atomic<uint64_t>& stack, uint32_t number) {
        uint64_t head = stack;
        do session.chunk(number)->next_free = static_cast<uint32_t>(head);
        while (!stack.compare_exchange_weak(head, ((head >> 32) + 1) << 32 | number));
    }

    void recycle(uint32_t number) {
        push(arena_->free_chunks, number);
        ++arena_->chunk_returned;
        kernel::futex_wake(arena_->chunk_returned, 100);
    }

    struct Cursor {
        uint32_t chunk = wire::kNoChunk;
        uint32_t record = 0;
    };

    // Hands every record published since the last call to `take`, and chunks that are used up back to the recorder.
    void drain(uint32_t slot, Cursor& cursor, const std::function<void(const wire::Record&)>& take) {
        const uint64_t published = session.slots()[slot].published.load(std::memory_order_acquire);
        if (published == 0) return;
        if (cursor.chunk == wire::kNoChunk) cursor.chunk = session.slots()[slot].first_chunk - 1;
        for (;;) {
            const wire::Chunk* chunk = session.chunk(cursor.chunk);
            const auto begin = reinterpret_cast<uint64_t>(chunk->records);
            const bool here = published >= begin && published <= begin + sizeof chunk->records;
            const uint32_t end = here ? uint32_t((published - begin) / sizeof(wire::Record)) : wire::kRecordsPerChunk;
            for (; cursor.record < end; ++cursor.record) take(chunk->records[cursor.record]);
            if (here) return;
            const uint32_t next = chunk->next.load(std::memory_order_acquire);
            recycle(cursor.chunk);
            cursor = {next, 0};
        }
    }

    void wait_for_a_chunk(bool silent);

    wire::ArenaHeader* arena_ = nullptr;
    std::optional<test::Arena> made_;
};

void append_number(ThreadState& state, uint64_t number) {
    make_room(state.log, wire::kWaitsBetween); // as a thread does when it begins
    append(state.log, kSomeKind, number, number + 5, number * 3, number * 7, static_cast<uint32_t>(number));
    publish(state.log);
}

bool is_padding(const wire::Record& record) { return static_cast<uint8_t>(record.head) == wire::kPadding; }

TEST_F(EventLog, RecordsHaveTheDocumentedLayout) {
    start(4, 4);
    ThreadState state;
    give(state, 0);
    make_room(state.log, wire::kWaitsBetween);
    append(state.log, 7, 1000, 1234, 0xdeadbeefcafe, 48 | uint64_t{6} << wire::kDetailShift, 99);
    publish(state.log);
    std::vector<wire::Record> records;
    Cursor cursor;
    drain(0, cursor, [&](const wire::Record& r) { records.push_back(r); });
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].head, 1000u << 8 | 7);
    EXPECT_EQ(records[0].address, 0xdeadbeefcafeu);
    EXPECT_EQ(records[0].size, 48 | uint64_t{6} << 48);
    EXPECT_EQ(records[0].tail, uint64_t{234} << 32 | 99);
}

TEST_F(EventLog, NothingIsVisibleBeforeItIsPublished) {
    start(4, 4);
    ThreadState state;
    give(state, 0);
    make_room(state.log, wire::kWaitsBetween);
    append(state.log, kSomeKind, 1, 2, 0, 0, 0);
    unsigned seen = 0;
    Cursor cursor;
    drain(0, cursor, [&](const wire::Record&) { ++seen; });
    EXPECT_EQ(seen, 0u);
    publish(state.log);
    drain(0, cursor, [&](const wire::Record&) { ++seen; });
    EXPECT_EQ(seen, 1u);
}

TEST_F(EventLog, LongDurationsGetARecordOfTheirOwn) {
    start(4, 4);
    ThreadState state;
    give(state, 0);
    const uint64_t duration = (uint64_t{1} << 32) + 17;
    make_room(state.log, wire::kWaitsBetween);
    append(state.log, kSomeKind, 5, 5 + duration, 1, 2, 3);
    publish(state.log);
    std::vector<wire::Record> records;
    Cursor cursor;
    drain(0, cursor, [&](const wire::Record& r) { records.push_back(r); });
    ASSERT_EQ(records.size(), 2u);
    EXPECT_EQ(records[0].head, uint64_t{5} << 8 | wire::kLongDuration);
    EXPECT_EQ(records[0].address, duration);
    EXPECT_EQ(records[1].tail, uint64_t{0xffffffff} << 32 | 3);
}

TEST_F(EventLog, AStampThatIsEarlierThanTheOneBeforeMakesNoDuration) {
    start(4, 4);
    ThreadState state;
    give(state, 0);
    make_room(state.log, wire::kWaitsBetween);
    append(state.log, kSomeKind, 5, 4, 1, 2, 3); // stamps of two processors, or of two clocks
    publish(state.log);
    std::vector<wire::Record> records;
    Cursor cursor;
    drain(0, cursor, [&](const wire::Record& r) { records.push_back(r); });
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].tail, 3u);
}

TEST_F(EventLog, ASharedTimeGoesOnWithEachLook) {
    start(4, 4);
    arena_->time = 1000;
    session.give_up_counter();
    EXPECT_EQ(arena_->counter_forbidden, 1u);
    const uint64_t first = now();
    EXPECT_GT(first, 1000u) << "not before what the counter has told already";
    EXPECT_EQ(now(), first + 1);
    arena_->time = first + 1000;
    EXPECT_EQ(now(), first + 1000);
    EXPECT_EQ(measure_stamp_ticks(), 0u);
    session.take_back_counter();
    shared_time = nullptr;
}

TEST_F(EventLog, ACounterThatWasNotForbiddenIsReadAgain) {
    start(4, 4);
    session.give_up_counter();
    session.give_up_counter(); // by another thread
    session.take_back_counter();
    EXPECT_FALSE(clock_is_tsc);
    EXPECT_EQ(arena_->counter_forbidden, 1u);
    session.take_back_counter();
    EXPECT_TRUE(clock_is_tsc);
    EXPECT_EQ(arena_->counter_forbidden, 0u);
    EXPECT_GT(measure_stamp_ticks(), 0u);
    shared_time = nullptr;
}

TEST_F(EventLog, ChunksAreFilledChainedAndRecycled) {
    start(8, 3);
    ThreadState state;
    give(state, 0);
    Cursor cursor;
    uint64_t expected = 0;
    const auto check = [&](const wire::Record& r) {
        if (is_padding(r)) return;
        ASSERT_EQ(r.head, expected << 8 | kSomeKind);
        ASSERT_EQ(r.address, expected * 3);
        ++expected;
    };
    // Many times more than three chunks hold, in pieces that end in the middle of a chunk, at its end, just after it.
    uint64_t number = 0;
    for (const uint32_t piece : {1u, wire::kRecordsPerChunk - 1, wire::kRecordsPerChunk, 1u, wire::kRecordsPerChunk + 1,
                                 2 * wire::kRecordsPerChunk - 2, 17u, 2 * wire::kRecordsPerChunk}) {
        for (uint32_t i = 0; i < piece; ++i) append_number(state, number++);
        drain(0, cursor, check);
        EXPECT_EQ(expected, number);
    }
    EXPECT_EQ(arena_->waits.load(), 0u);
    EXPECT_LE(arena_->chunks_used.load(), 3u);
}

TEST_F(EventLog, ABlobIsNeverSplit) {
    start(16, 16);
    ThreadState state;
    give(state, 0);
    std::vector<wire::Record> records;
    std::vector<char> text(100'000, 'x');
    uint64_t blobs = 0, payload_records = 0;
    Cursor cursor;
    const auto take = [&](const wire::Record& r) {
        if (payload_records > 0) {
            --payload_records;
            return;
        }
        const auto kind = static_cast<uint8_t>(r.head);
        if (kind == wire::kMark) {
            ++blobs;
            payload_records = (r.size + sizeof r - 1) / sizeof r;
            // All of it, the head included, in the chunk that it starts in.
            const auto offset = (reinterpret_cast<const char*>(&r) - reinterpret_cast<const char*>(session.chunk(0))) %
                                wire::kChunkBytes;
            EXPECT_LE(static_cast<uint64_t>(offset) + (payload_records + 1) * sizeof r, wire::kChunkBytes);
            EXPECT_EQ(memcmp(&r + 1, "headhead", 8), 0);
        } else {
            EXPECT_EQ(kind, wire::kPadding);
        }
    };
    const size_t largest = (wire::kRecordsPerChunk - 1) * sizeof(wire::Record) - 8;
    unsigned sent = 0;
    for (const size_t bytes : {size_t{0}, size_t{1}, size_t{24}, size_t{25}, size_t{30'000}, size_t{40'000}, largest - 1,
                               largest, largest + 1, text.size(), size_t{3}}) {
        append_blob(state.log, wire::kMark, "headhead", 8, text.data(), bytes);
        ++sent;
        drain(0, cursor, take);
        EXPECT_EQ(payload_records, 0u);
    }
    EXPECT_EQ(blobs, sent);
}

TEST_F(EventLog, AMovedBreakIsPartOfTheCall) {
    start(4, 4);
    ThreadState state;
    give(state, 0);
    start_program_break();
    make_room(state.log, wire::kWaitsBetween);
    const wire::Record* const first = state.log.next;
    append_break_if_moved(state.log, 900, 31);
    EXPECT_EQ(state.log.next, first) << "nothing has moved";
    const auto before = reinterpret_cast<uint64_t>(sbrk(0));
    sbrk(4096);
    append_break_if_moved(state.log, 1000, 32);
    sbrk(-4096);
    expect_break_where_it_is();
    append_break_if_moved(state.log, 1100, 33);
    publish(state.log);
    std::vector<wire::Record> records;
    Cursor cursor;
    drain(0, cursor, [&](const wire::Record& r) { records.push_back(r); });
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].head, 1000u << 8 | wire::kBreak);
    EXPECT_EQ(records[0].address, before + 4096);
    EXPECT_EQ(records[0].size, before);
    EXPECT_EQ(records[0].tail, 32u);
}

TEST_F(EventLog, UsageIsWhatTheKernelSays) {
    start(4, 4);
    ThreadState state;
    give(state, 0);
    errno = 77;
    append_usage(state.log, wire::UsageBlob::kThread);
    constexpr size_t kPages = 500;
    auto* memory = static_cast<char*>(kernel::map_private(kPages * 4096));
    for (size_t i = 0; i < kPages; ++i) memory[i * 4096] = 1;
    append_usage(state.log, wire::UsageBlob::kThread);
    append_usage(state.log, wire::UsageBlob::kProcess);
    EXPECT_EQ(errno, 77);
    kernel::unmap(memory, kPages * 4096);
    std::vector<wire::Record> records;
    Cursor cursor;
    drain(0, cursor, [&](const wire::Record& r) { records.push_back(r); });
    constexpr size_t kEach = 1 + (sizeof(wire::UsageBlob) + sizeof(wire::Record) - 1) / sizeof(wire::Record);
    ASSERT_EQ(records.size(), 3 * kEach);
    wire::UsageBlob usage[3];
    for (size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(static_cast<uint8_t>(records[kEach * i].head), wire::kUsage);
        EXPECT_EQ(records[kEach * i].size, sizeof usage[i]);
        memcpy(&usage[i], &records[kEach * i + 1], sizeof usage[i]);
        EXPECT_EQ(usage[i].tid, kernel::thread_id());
    }
    EXPECT_EQ(usage[0].scope, wire::UsageBlob::kThread);
    EXPECT_EQ(usage[2].scope, wire::UsageBlob::kProcess);
    EXPECT_GE(usage[1].minor_faults, usage[0].minor_faults + 1) << "huge pages make it fewer than one a page";
    EXPECT_LE(usage[1].minor_faults, usage[2].minor_faults);
    EXPECT_EQ(usage[0].program_rss_kib, 0u) << "a thread has no resident set";
    EXPECT_GE(usage[2].user_ns + usage[2].system_ns, usage[1].user_ns + usage[1].system_ns);
}

// What hooks do at their start and end: now and then an event is timed, and the statistics are published.
TEST_F(EventLog, EventsAreTimedAndStatisticsPublished) {
    start(4, 4);
    ThreadState state;
    give(state, 0);
    state.mode = ThreadState::kReady;
    ThreadState* const own = thread_state;
    thread_state = &state;
    unsigned timed = 0;
    constexpr unsigned kEvents = 20'000;
    for (unsigned i = 0; i < kEvents; ++i) {
        ThreadState* entered = enter(arch::HookFrame{0x1000}, [] {});
        ASSERT_EQ(entered, &state);
        EXPECT_EQ(state.log.slot->guard, 0x1000u);
        timed += state.cost.timing();
        real_call_done(entered, arch::HookFrame{0x1000});
        entered->real_ticks = 0;
        ++state.stacks.walks;
        leave(entered);
        ASSERT_EQ(state.log.slot->guard, 0u);
        ASSERT_LE(state.stacks.walks - state.log.slot->walks, 96u) << "published too rarely";
    }
    thread_state = own;
    EXPECT_NEAR(timed, kEvents / 64.0, kEvents / 64.0 * 0.2);
    EXPECT_GT(state.log.slot->recorder_ticks, 0u);
    EXPECT_EQ(state.log.slot->recorder_ticks, state.cost.ticks());
}

// A supervisor that sleeps until some chunks are full is woken then, and not again before it sleeps again.
TEST_F(EventLog, RingsWhenAsManyChunksAreFull) {
    start(16, 16);
    ThreadState state;
    give(state, 0);
    uint64_t number = 0;
    const auto fill = [&](unsigned chunks) {
        for (uint32_t i = 0; i < chunks * wire::kRecordsPerChunk; ++i) append_number(state, ++number);
    };
    fill(1);
    EXPECT_EQ(arena_->doorbell, 0u) << "it is awake";
    arena_->supervisor_sleeps = 3;
    fill(2);
    EXPECT_EQ(arena_->doorbell, 0u);
    fill(1);
    EXPECT_EQ(arena_->doorbell, 1u);
    fill(4);
    EXPECT_EQ(arena_->doorbell, 1u);
    EXPECT_EQ(arena_->supervisor_sleeps, 0u);
}

// Without a free chunk the thread waits, with all its events published, and goes on as soon as one comes back: nothing is
// lost.
void EventLog::wait_for_a_chunk(bool silent) {
    start(4, 1);
    kernel::silent = silent;
    ThreadState state;
    give(state, 0);
    constexpr uint64_t kTotal = 3 * wire::kRecordsPerChunk;
    std::thread recorder([&] {
        for (uint64_t i = 1; i <= kTotal; ++i) append_number(state, i);
    });
    while (session.slots()[0].waiting == wire::kNotWaiting) std::this_thread::yield();
    EXPECT_EQ(session.slots()[0].waiting, wire::kWaitsBetween);
    EXPECT_EQ(session.slots()[0].published, reinterpret_cast<uint64_t>(state.log.end - (wire::kMostRecords - 1)));
    EXPECT_GE(arena_->waits, 1u);
    // The supervisor raises the limit instead of returning a chunk it still needs; then it drains.
    arena_->chunk_limit = 2;
    Cursor cursor;
    uint64_t expected = 1;
    while (expected <= kTotal) {
        ++arena_->heartbeat;
        drain(0, cursor, [&](const wire::Record& r) {
            if (is_padding(r)) return;
            ASSERT_EQ(r.head >> 8, expected);
            ++expected;
        });
        std::this_thread::yield();
    }
    recorder.join();
    EXPECT_EQ(session.slots()[0].waiting, wire::kNotWaiting);
    EXPECT_GT(arena_->wait_ticks, 0u);
    EXPECT_EQ(arena_->stop, 0u);
}

TEST_F(EventLog, WaitsForAChunk) { wait_for_a_chunk(false); }

TEST_F(EventLog, WaitsForAChunkWithoutSystemCalls) {
    wait_for_a_chunk(true);
}

// A thread waits until the supervisor has looked at its memory: for that long, the recorder does no work.
TEST_F(EventLog, AwaitedLooksAreNoWorkOfTheRecorder) {
    start(4, 4);
    const auto waits = [](const std::function<void(ThreadLog&)>& await, const std::function<void()>& answer) {
        ThreadLog log;
        std::thread supervisor([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            answer();
        });
        const uint64_t since = now();
        await(log);
        const uint64_t passed = now() - since;
        supervisor.join();
        EXPECT_LE(log.waited, passed);
        EXPECT_GE(log.waited, passed / 10 * 9);
    };
    waits([](ThreadLog& log) { await_look(log, wire::kPages, 0); },
          [&] {
              arena_->look_at_end = wire::kLookedAt;
              kernel::futex_wake(arena_->look_at_end, 1);
          });
    std::thread looking([&] {
        while (arena_->look_before_giving_back != wire::kLookAsked) std::this_thread::yield();
        arena_->look_before_giving_back = wire::kLooking;
    });
    waits([](ThreadLog& log) { await_look_before_giving_back(log); },
          [&] {
              arena_->look_before_giving_back = wire::kNoLook;
              kernel::futex_wake(arena_->look_before_giving_back, 1);
          });
    looking.join();
}

TEST_F(EventLog, WithoutSystemCallsThereIsNoUsage) {
    start(4, 4);
    ThreadState state;
    give(state, 0);
    kernel::silent = 1;
    append_usage(state.log, wire::UsageBlob::kProcess);
    EXPECT_EQ(state.log.next, nullptr);
}

// More threads than the supervisor's limit of chunks, none of which fills its chunk: no thread waits for ever.
TEST_F(EventLog, EveryThreadGetsAChunk) {
    start(kSlots + 1, 2);
    arena_->slots_used = kSlots;
    std::vector<ThreadState> states(kSlots);
    std::vector<Cursor> cursors(kSlots);
    for (uint32_t t = 0; t < kSlots; ++t) {
        give(states[t], t);
        append_number(states[t], 1);
    }
    EXPECT_EQ(arena_->waits, 0u);
    // And the one chunk more than there are threads is enough for all to go on, one after the other.
    for (uint32_t t = 0; t < kSlots; ++t) {
        for (uint32_t i = 0; i < wire::kRecordsPerChunk; ++i) append_number(states[t], i);
        drain(t, cursors[t], [](const wire::Record&) {});
    }
    EXPECT_EQ(arena_->waits, 0u);
    EXPECT_EQ(arena_->stop, 0u);
}

// Whether this process has any of it in memory.
bool is_here(const void* start, size_t bytes) {
    std::vector<uint64_t> pages(bytes / kernel::page_bytes());
    const int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    const auto from = static_cast<off_t>(reinterpret_cast<uintptr_t>(start) / kernel::page_bytes() * sizeof pages[0]);
    const ssize_t length = pread(file, pages.data(), pages.size() * sizeof pages[0], from);
    close(file);
    EXPECT_EQ(length, ssize_t(pages.size() * sizeof pages[0]));
    return std::ranges::any_of(pages, [](uint64_t page) { return page >> 63; });
}

// The supervisor takes and returns such chunks while a thread takes one after the other.
TEST_F(EventLog, OfTheChunksForBurstsOnlyThatInUseStaysInMemory) {
    constexpr uint32_t kBursts = 400, kTaken = 300, kAll = wire::kKeptChunks + kBursts;
    start(kAll, kAll);
    arena_->chunks_used = kAll;
    std::atomic<uint64_t>& bursts = arena_->burst_chunks;
    for (uint32_t number = wire::kKeptChunks; number < kAll; ++number) push(bursts, number);
    kernel::forget_shared(session.chunk(wire::kKeptChunks), kBursts * sizeof(wire::Chunk));
    const pid_t supervisor = fork();
    if (supervisor == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (std::vector<uint32_t> taken;; ++arena_->heartbeat) {
            while (taken.size() < 50) {
                uint64_t head = bursts;
                const uint64_t next = session.chunk(static_cast<uint32_t>(head))->next_free;
                if (bursts.compare_exchange_strong(head, ((head >> 32) + 1) << 32 | next))
                    taken.push_back(static_cast<uint32_t>(head));
            }
            for (const uint32_t number : taken) push(bursts, number);
            taken.clear();
        }
    }
    while (arena_->heartbeat == 0) usleep(1000);
    ThreadState state;
    give(state, 0);
    for (uint32_t i = 0; i < kTaken; ++i) next_chunk(state.log, wire::kWaitsInEvent);
    kill(supervisor, SIGKILL);
    waitpid(supervisor, nullptr, 0);
    std::vector<uint32_t> here;
    for (uint32_t number = wire::kKeptChunks; number < kAll; ++number)
        if (is_here(session.chunk(number), sizeof(wire::Chunk))) here.push_back(number);
    EXPECT_EQ(here, std::vector{state.log.chunk});
}

// A supervisor that shows no sign of life is not waited for: the target goes on, unrecorded.
TEST_F(EventLog, GoesOnWhenTheSupervisorIsGone) {
    start(4, 1);
    ThreadState state, other;
    give(state, 0);
    give(other, 1);
    for (uint64_t i = 1; i <= wire::kRecordsPerChunk - wire::kMostRecords; ++i) append_number(state, i);
    const auto begin = std::chrono::steady_clock::now();
    append_number(state, wire::kRecordsPerChunk + 1);
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - begin;
    EXPECT_GT(waited.count(), 1.0);
    EXPECT_LT(waited.count(), 10.0);
    EXPECT_EQ(arena_->stop, 1u);
    EXPECT_EQ(session.state, Session::kOff);
    EXPECT_TRUE(state.log.is_over);
    // Events that were already on their way do no harm, even from a thread that never had a chunk; no thread waits again.
    for (uint64_t i = 0; i < 3 * wire::kRecordsPerChunk; ++i) {
        append_number(state, i);
        append_number(other, i);
    }
    append_blob(other.log, wire::kMark, "", 0, "name", 4);
    const std::chrono::duration<double> all = std::chrono::steady_clock::now() - begin;
    EXPECT_LT(all.count(), waited.count() + 1);
}

// Some threads share a few chunks with a supervisor that recycles them: each record arrives once, in order.
TEST_F(EventLog, ManyThreadsShareTheChunks) {
    start(6, 6);
    constexpr unsigned kThreads = 4;
    constexpr uint64_t kEach = 100 * wire::kRecordsPerChunk + 5;
    ThreadState states[kThreads];
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < kThreads; ++t) {
        give(states[t], t);
        threads.emplace_back([&state = states[t]] {
            for (uint64_t i = 0; i < kEach; ++i) append_number(state, i);
        });
    }
    Cursor cursors[kThreads];
    uint64_t expected[kThreads] = {};
    bool done = false;
    while (!done) {
        done = true;
        ++arena_->heartbeat;
        for (unsigned t = 0; t < kThreads; ++t) {
            drain(t, cursors[t], [&](const wire::Record& r) {
                if (is_padding(r)) return;
                ASSERT_EQ(r.head >> 8, expected[t]);
                ++expected[t];
            });
            if (expected[t] < kEach) done = false;
        }
        if (HasFatalFailure()) _exit(1); // the threads would wait for ever
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_LE(arena_->chunks_used, 6u);
}

} // namespace
} // namespace memtoll
