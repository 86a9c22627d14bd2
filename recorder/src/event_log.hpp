// Writes a thread's events into its chunks of the arena (layout: wire.hpp).
#pragma once

#include "clock.hpp"
#include "session.hpp"

namespace memtoll {

// A thread's end of the log.
struct ThreadLog {
    wire::ThreadSlot* slot = nullptr;
    wire::Record* next = nullptr; // where the next record goes
    wire::Record* end = nullptr;  // of the current chunk
    uint64_t waited = 0;          // for the supervisor: ticks. No work of the recorder (recorder_overhead.hpp)
    uint32_t chunk = wire::kNoChunk;
    bool is_over = false; // nothing more is recorded
};

// Replaces the log's chunk, whose rest is left empty, by an empty one, waiting for the supervisor if there is none.
// Everything appended so far becomes visible.
[[gnu::noinline]] void next_chunk(ThreadLog& log, wire::Waiting waiting);

// Makes sure that there is room for an event's records.
[[gnu::always_inline]] inline void make_room(ThreadLog& log, wire::Waiting waiting) {
    if (log.end - log.next < wire::kMostRecords) [[unlikely]]
        next_chunk(log, waiting);
}

// A record of an event longer than the tail's 32 bits can say. Returns what the tail is to say.
[[gnu::noinline]] uint32_t append_long_duration(ThreadLog& log, uint64_t begin, uint64_t duration);

// Writes a record without making it visible to the supervisor. There is room for kMostRecords.
[[gnu::always_inline]] inline void append(ThreadLog& log, uint8_t kind, uint64_t begin, uint64_t end,
                                          uint64_t address, uint64_t size, uint32_t node) {
    uint64_t duration = end - begin;
    if (duration >> wire::kDurationShift) [[unlikely]]
        duration = append_long_duration(log, begin, duration);
    wire::Record* record = log.next;
    record->head = begin << wire::kTicksShift | kind;
    record->address = address;
    record->size = size;
    record->tail = duration << wire::kDurationShift | node;
    log.next = record + 1;
}

// Makes everything appended so far visible, and room for the next event.
[[gnu::always_inline]] inline void publish(ThreadLog& log, wire::Waiting waiting = wire::kWaitsBetween) {
    log.slot->published.store(reinterpret_cast<uint64_t>(log.next), std::memory_order_release);
    make_room(log, waiting);
}

// Writes down, as part of a call that is `node`, ended at `end` and took longer than thresholds.slow_call, whether the end of the
// heap has moved.
[[gnu::noinline]] void append_break_if_moved(ThreadLog& log, uint64_t end, uint32_t node);

// Appends and publishes `kind` with a payload: `head` of `head_bytes`, then `text` of `text_bytes` (cut to what a chunk
// holds). It may stand in the middle of an event.
void append_blob(ThreadLog& log, uint8_t kind, const void* head, size_t head_bytes, const void* text,
                 size_t text_bytes);

// The process is about to end: waits until the supervisor has looked at its memory for what `wanted` says (wire::Look), or shows no
// sign of life. The program's part of the calling thread's stack is from `stack` up.
void await_look(ThreadLog& log, uint32_t wanted, uintptr_t stack);
// The supervisor reads what was just written, if it sleeps; at most a hundred times a second.
void wake_supervisor();
// The same for a look at the pages before memory is given back, if no other thread waits for one already: some milliseconds until it begins,
// and longer only where a look at a large process takes longer.
void await_look_before_giving_back(ThreadLog& log);

} // namespace memtoll
