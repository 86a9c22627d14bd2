#include "event_log.hpp"

#include "footprint.hpp"
#include "kernel.hpp"
#include "program_break.hpp"

#include <cstring>

namespace memtoll {
namespace {

constexpr long kNapMs = 20;

// How long a waiting thread trusts a supervisor that shows no sign of life.
class Patience {
public:
    explicit Patience(const wire::ArenaHeader* arena) : arena_(arena) {}

    // After each nap.
    bool is_over() {
        const uint32_t beat = arena_->heartbeat.load(std::memory_order_relaxed);
        const uint64_t time = clock();
        if (beat != beat_) heard_ = time;
        beat_ = beat;
        return time - heard_ > kNanoseconds;
    }

private:
    static constexpr uint64_t kNanoseconds = 3'000'000'000;
    static constexpr uint64_t kPause = 20; // of arch::relax(), at least

    // Where no clock can be read, the naps are added up.
    uint64_t clock() {
        if (!shared_time) return monotonic_ticks();
        return naps_ += kernel::silent.load(std::memory_order_relaxed) ? kPause : uint64_t{kNapMs} * 1'000'000;
    }

    const wire::ArenaHeader* arena_;
    uint64_t naps_ = 0;
    uint32_t beat_ = arena_->heartbeat.load(std::memory_order_relaxed);
    uint64_t heard_ = clock();
};

// Every slot may keep one chunk for as long as it likes, drained or not. So there must be more chunks than slots, whatever
// the supervisor's limit, or in the end all threads wait for each other's.
uint32_t chunks_allowed(const wire::ArenaHeader* arena) {
    const uint32_t limit = arena->chunk_limit.load(std::memory_order_relaxed);
    const uint32_t least = arena->slots_used.load(std::memory_order_relaxed) + 1;
    const uint32_t wanted = limit > least ? limit : least;
    const uint32_t most = arena->max_chunks.load(std::memory_order_relaxed);
    return wanted < most ? wanted : most;
}

// Brings a chunk into this process's memory.
void bring(uint32_t number) { footprint::bring(session.chunk(number), sizeof(wire::Chunk)); }

// kNoChunk if there is none. `away`: this process does not have these chunks in memory. They come by a write: where a page
// comes because it is read, the kernel brings its neighbours, too, which then stay.
uint32_t pop_chunk(std::atomic<uint64_t>& stack, bool away) {
    uint64_t head = stack.load(std::memory_order_acquire);
    for (;;) {
        const auto number = static_cast<uint32_t>(head);
        if (number == wire::kNoChunk) return number;
        if (away) bring(number);
        const uint64_t next = session.chunk(number)->next_free.load(std::memory_order_relaxed);
        const uint64_t tag = (head >> 32) + 1;
        if (stack.compare_exchange_strong(head, tag << 32 | next, std::memory_order_acq_rel)) return number;
        // Another one is taken instead: this one would stay.
        if (away) kernel::forget_shared(session.chunk(number), sizeof(wire::Chunk));
    }
}

// One of the first `most`, if any of these was never used.
uint32_t first_use_of_chunk(wire::ArenaHeader* arena, uint32_t most) {
    uint32_t used = arena->chunks_used.load(std::memory_order_relaxed);
    while (used < most)
        if (arena->chunks_used.compare_exchange_weak(used, used + 1, std::memory_order_acq_rel)) return used;
    return wire::kNoChunk;
}

// `is_first`: of its thread, which perhaps never fills it; it counts with the thread's state (state_pool.cpp).
uint32_t take_free_chunk(wire::ArenaHeader* arena, bool is_first) {
    const uint32_t kept = wire::kept_chunks(arena->slots_used.load(std::memory_order_relaxed));
    const uint32_t allowed = chunks_allowed(arena);
    uint32_t chunk = pop_chunk(arena->free_chunks, false);
    if (chunk == wire::kNoChunk) {
        chunk = first_use_of_chunk(arena, kept < allowed ? kept : allowed);
        if (chunk != wire::kNoChunk && !is_first) {
            bring(chunk);
            footprint::grow(sizeof(wire::Chunk));
        }
    }
    if (chunk == wire::kNoChunk) chunk = pop_chunk(arena->burst_chunks, true);
    if (chunk != wire::kNoChunk) return chunk;
    chunk = first_use_of_chunk(arena, allowed);
    if (chunk != wire::kNoChunk && chunk >= kept) bring(chunk);
    return chunk;
}

void ring_doorbell(wire::ArenaHeader* arena) {
    arena->doorbell.fetch_add(1, std::memory_order_release);
    kernel::futex_wake(arena->doorbell, 1);
}

// A chunk is full.
void wake_supervisor_if_due(wire::ArenaHeader* arena) {
    uint32_t chunks = arena->supervisor_sleeps.load(std::memory_order_relaxed);
    while (chunks > 0)
        if (arena->supervisor_sleeps.compare_exchange_weak(chunks, chunks - 1, std::memory_order_relaxed)) {
            if (chunks == 1) ring_doorbell(arena);
            return;
        }
}

// While it is there, a thread waits for the supervisor.
class Wait {
public:
    explicit Wait(ThreadLog& log) : log_(log) {}
    ~Wait() { log_.waited += ticks(); }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

    uint64_t ticks() const { return now() - since_; }

private:
    ThreadLog& log_;
    const uint64_t since_ = now();
};

// An empty chunk, or kNoChunk when recording is over.
uint32_t wait_for_chunk(ThreadLog& log, wire::ArenaHeader* arena, wire::Waiting waiting) {
    const Wait wait(log);
    arena->waits.fetch_add(1, std::memory_order_relaxed);
    log.slot->waiting.store(waiting, std::memory_order_release);
    uint32_t chunk;
    Patience patience(arena);
    for (;;) {
        const uint32_t returned = arena->chunk_returned.load(std::memory_order_acquire);
        chunk = take_free_chunk(arena, log.chunk == wire::kNoChunk);
        if (chunk != wire::kNoChunk || arena->stop.load(std::memory_order_relaxed)) break;
        ring_doorbell(arena);
        kernel::futex_wait(arena->chunk_returned, returned, kNapMs);
        arch::relax(); // where waiting is forbidden
        if (patience.is_over()) {
            arena->stop.store(1, std::memory_order_relaxed);
            break;
        }
    }
    log.slot->waiting.store(wire::kNotWaiting, std::memory_order_release);
    arena->wait_ticks.fetch_add(wait.ticks(), std::memory_order_relaxed);
    return chunk;
}

// Goes on to `chunk`, which is empty.
void begin_chunk(ThreadLog& log, uint32_t chunk) {
    const uint32_t kept = wire::kept_chunks(session.arena->slots_used.load(std::memory_order_relaxed));
    wire::Chunk* fresh = session.chunk(chunk);
    fresh->next.store(wire::kNoChunk, std::memory_order_relaxed);
    const uint32_t full = log.chunk;
    if (full == wire::kNoChunk) log.slot->first_chunk.store(chunk + 1, std::memory_order_release);
    else session.chunk(full)->next.store(chunk, std::memory_order_release);
    log.chunk = chunk;
    log.next = fresh->records;
    log.end = fresh->records + wire::kRecordsPerChunk;
    // The full chunk can be given back even if nothing more comes.
    log.slot->published.store(reinterpret_cast<uint64_t>(log.next), std::memory_order_release);
    if (full != wire::kNoChunk && full >= kept) kernel::forget_shared(session.chunk(full), sizeof *fresh);
}

} // namespace

void next_chunk(ThreadLog& log, wire::Waiting waiting) {
    wire::ArenaHeader* arena = session.arena;
    const bool is_first = log.chunk == wire::kNoChunk;
    for (; log.next != log.end; ++log.next) *log.next = {wire::kPadding, 0, 0, 0};
    uint32_t chunk = wire::kNoChunk;
    if (!arena->stop.load(std::memory_order_relaxed)) chunk = take_free_chunk(arena, is_first);
    if (chunk == wire::kNoChunk && !arena->stop.load(std::memory_order_relaxed))
        chunk = wait_for_chunk(log, arena, waiting);
    if (chunk == wire::kNoChunk) {
        // Over: what comes is written over this chunk's first records, which the supervisor does not read any more.
        session.stop();
        log.is_over = true;
        if (is_first) {
            static wire::Chunk nowhere;
            log.next = nowhere.records;
            log.end = nowhere.records + wire::kRecordsPerChunk;
        } else {
            log.next = session.chunk(log.chunk)->records;
        }
        return;
    }
    begin_chunk(log, chunk);
    if (!is_first) wake_supervisor_if_due(arena);
}

uint32_t append_long_duration(ThreadLog& log, uint64_t begin, uint64_t duration) {
    // The stamps are of different processors, or of different clocks: meanwhile the program gave up the counter.
    if (static_cast<int64_t>(duration) < 0) return 0;
    append(log, wire::kLongDuration, begin, begin, duration, 0, 0);
    return UINT32_MAX;
}

void append_break_if_moved(ThreadLog& log, uint64_t end, uint32_t node) {
    uintptr_t from, to;
    if (break_moved(from, to)) append(log, wire::kBreak, end, end, to, from & wire::kSizeMask, node);
}

void append_blob(ThreadLog& log, uint8_t kind, const void* head, size_t head_bytes, const void* text,
                 size_t text_bytes) {
    constexpr size_t kLargest = (wire::kRecordsPerChunk - 1) * sizeof(wire::Record);
    if (text_bytes > kLargest - head_bytes) text_bytes = kLargest - head_bytes;
    const size_t records = (head_bytes + text_bytes + sizeof(wire::Record) - 1) / sizeof(wire::Record);
    // A blob does not cross a chunk's end.
    if (static_cast<size_t>(log.end - log.next) < records + 1) next_chunk(log, wire::kWaitsInEvent);
    const uint64_t time = now();
    append(log, kind, time, time, 0, head_bytes + text_bytes, 0);
    auto* payload = reinterpret_cast<char*>(log.next);
    memcpy(payload, head, head_bytes);
    memcpy(payload + head_bytes, text, text_bytes);
    log.next += records;
    publish(log, wire::kWaitsInEvent);
}

void await_look(ThreadLog& log, uint32_t wanted, uintptr_t stack) {
    const Wait wait(log);
    wire::ArenaHeader* const arena = session.arena;
    std::atomic<uint32_t>& look = arena->look_at_end;
    look.store(wire::kAwaited, std::memory_order_relaxed);
    arena->ending_thread.store(static_cast<uint32_t>(kernel::thread_id()), std::memory_order_relaxed);
    arena->ending_stack.store(stack, std::memory_order_relaxed);
    arena->look_wanted.store(wanted, std::memory_order_release);
    ring_doorbell(arena);
    Patience patience(arena);
    while (look.load(std::memory_order_acquire) == wire::kAwaited) {
        if (arena->stop.load(std::memory_order_relaxed) || kernel::silent.load(std::memory_order_relaxed)) break;
        kernel::futex_wait(look, wire::kAwaited, kNapMs);
        uint32_t state = wire::kAwaited;
        if (patience.is_over() && look.compare_exchange_strong(state, wire::kGivenUp, std::memory_order_acq_rel)) return;
    }
    arena->look_wanted.store(0, std::memory_order_relaxed);
}

void wake_supervisor() {
    constexpr uint64_t kPauseMicroseconds = 10'000;
    static constinit std::atomic<uint64_t> last{0};
    wire::ArenaHeader* const arena = session.arena;
    if (arena->supervisor_sleeps.load(std::memory_order_relaxed) == 0) return;
    const uint64_t time = now();
    uint64_t before = last.load(std::memory_order_relaxed);
    if (time - before < kPauseMicroseconds * arena->ticks_per_microsecond) return;
    if (last.compare_exchange_strong(before, time, std::memory_order_relaxed)) ring_doorbell(arena);
}

void await_look_before_giving_back(ThreadLog& log) {
    constexpr unsigned kNaps = 20; // a tenth of a second
    constexpr long kShortNapMs = 5;
    std::atomic<uint32_t>& look = session.arena->look_before_giving_back;
    uint32_t state = wire::kNoLook;
    if (!look.compare_exchange_strong(state, wire::kLookAsked, std::memory_order_acq_rel)) return;
    const Wait wait(log);
    ring_doorbell(session.arena);
    for (unsigned i = 0; i < kNaps; ++i) {
        state = look.load(std::memory_order_acquire);
        if (state == wire::kNoLook) return;
        // The supervisor is busy with something else.
        if (i > 0 && state == wire::kLookAsked) break;
        if (session.arena->stop.load(std::memory_order_relaxed) || kernel::silent.load(std::memory_order_relaxed)) break;
        kernel::futex_wait(look, state, kShortNapMs);
    }
    // A look that is still being made counts for nothing.
    look.store(wire::kNoLook, std::memory_order_release);
}

} // namespace memtoll
