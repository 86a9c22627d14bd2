//! Where the supervisor stands in one thread's chain of chunks.

use crate::arena::{Arena, read_record};
use crate::backlog::{Backlog, Copied};
use crate::wire::{self, Chunk, NO_CHUNK, RECORDS_PER_CHUNK, Record, guard, kind, waiting};
use memtoll_trace::ids::ThreadNo;
use memtoll_trace::op::Op;
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Acquire;

/// Reads a slot's records in the order in which they were written.
pub struct Cursor {
    slot: usize,
    /// The first chunk of the arena that is not read to its end, nor copied.
    chunk: u32,
    /// Copies of the chunks before that one.
    copies: VecDeque<Copied>,
    /// What is read: the first copy or, if there is none, the chunk itself.
    memory: Option<NonNull<Chunk>>,
    next: usize,
    have: usize,    // records there that are published
    published: u64, // of the slot, as last read
    /// The last look at which the thread had written anything since the one before, or waited to go on. Ticks.
    busy_at: u64,
    /// The thread whose records these are, once it has begun.
    pub thread: Option<ThreadNo>,
    /// Ticks of the last call taken.
    pub last_ticks: u64,
    /// Whatever is written later than what was seen of this slot happened later than this. Ticks.
    clear_until: u64,
    /// For how long it is not known what the thread does, as far as anybody looked. Ticks.
    pub stuck_for: u64,
    /// For how long the thread has been in one call of a hook, as far as anybody looked. Ticks.
    pub inside_for: u64,
    looked_at: u64, // ticks
    /// Duration of the next record, if it does not fit there.
    pub long_duration: Option<u64>,
}

// SAFETY: what is read belongs to the arena, which outlives its cursors and may be used by any thread, or to a copy that
// the cursor owns.
unsafe impl Send for Cursor {}

/// For each kind of record, whether it is sorted by its end (an acquisition) or its begin.
pub const BY_END: [bool; 256] = by_end();

const fn by_end() -> [bool; 256] {
    let mut table = [false; 256];
    let mut kind = 1;
    while kind < 128 {
        // Calls of memtoll.h have no operation to wait for: they count from when they begin.
        table[kind as usize] = Op(kind).counts_at_end() && !Op(kind).is_pooled();
        kind += 1;
    }
    table
}

impl Cursor {
    pub fn new(slot: usize) -> Cursor {
        Cursor {
            slot,
            chunk: NO_CHUNK,
            copies: VecDeque::new(),
            memory: None,
            next: 0,
            have: 0,
            published: 0,
            busy_at: 0,
            thread: None,
            last_ticks: 0,
            clear_until: 0,
            stuck_for: 0,
            inside_for: 0,
            looked_at: 0,
            long_duration: None,
        }
    }

    /// Looks how far the thread has come. `now` was looked up before, in ticks. If the last look
    /// was longer ago than `look` ticks, it did not look in the rest of that time.
    pub fn refresh(&mut self, arena: &Arena, now: u64, look: u64) {
        let Some(slot) = arena.slots().get(self.slot) else { return };
        // In this order: what was published before the thread was seen like this is seen below.
        let guard = slot.guard.load(Acquire);
        let waits = slot.waiting.load(Acquire);
        let is_clear = is_clear(guard, waits);
        let published = slot.published.load(Acquire);
        if is_clear {
            self.clear_until = now;
        }
        let stands_still = self.published == published;
        let longer = |before: u64| before + (now - self.looked_at.min(now)).min(look);
        self.stuck_for = if stands_still && !is_clear { longer(self.stuck_for) } else { 0 };
        self.inside_for = if stands_still && guard != 0 { longer(self.inside_for) } else { 0 };
        self.looked_at = now;
        if self.published != published || waits != waiting::NOT_WAITING {
            self.busy_at = now;
        }
        self.published = published;
        if self.memory.is_none() && self.published != 0 {
            let first = slot.first_chunk.load(Acquire).wrapping_sub(1);
            self.memory = arena.chunk(first);
            self.chunk = first;
        }
        if self.memory.is_some() {
            self.count(arena);
        }
    }

    fn count(&mut self, arena: &Arena) {
        self.have = match self.copies.is_empty() {
            // Anywhere else than in this chunk means that this chunk is full.
            true => arena.records_before(self.chunk, self.published).unwrap_or(RECORDS_PER_CHUNK),
            false => RECORDS_PER_CHUNK,
        };
    }

    /// Whether the thread was at work at a look within these ticks before the last one.
    pub fn is_busy_within(&self, ticks: u64) -> bool {
        self.busy_at != 0 && self.looked_at - self.busy_at <= ticks
    }

    /// Whether there are copies of chunks to be read first.
    pub fn has_copies(&self) -> bool {
        !self.copies.is_empty()
    }

    /// Bytes of the copies.
    pub fn copied_bytes(&self) -> u64 {
        (self.copies.len() * size_of::<Chunk>()) as u64
    }

    /// The chunk behind `chunk`, if `chunk` is full.
    fn following(&self, arena: &Arena, chunk: u32) -> Option<u32> {
        if self.memory.is_none() || arena.records_before(chunk, self.published).is_some() {
            return None;
        }
        // SAFETY: the chunk lies within the arena and the field is atomic.
        let following = unsafe { (*arena.chunk(chunk)?.as_ptr()).next.load(Acquire) };
        arena.chunk(following).map(|_| following)
    }

    /// Full chunks in the arena as of the last look, `most` at the most.
    pub fn full_chunks(&self, arena: &Arena, most: usize) -> usize {
        std::iter::successors(Some(self.chunk), |chunk| self.following(arena, *chunk)).skip(1).take(most).count()
    }

    /// Copies the full chunks and gives them back to the recorder. Whether there was memory for all of them.
    pub fn copy_full_chunks(&mut self, arena: &Arena, backlog: &Backlog) -> bool {
        while let (Some(following), Some(chunk)) = (self.following(arena, self.chunk), arena.chunk(self.chunk)) {
            // SAFETY: the chunk lies within the arena; what is in a full one changes no more.
            let Some(copy) = (unsafe { backlog.copy(chunk) }) else { return false };
            if self.copies.is_empty() {
                self.memory = Some(copy.memory());
                self.have = RECORDS_PER_CHUNK;
            }
            self.copies.push_back(copy);
            arena.recycle(self.chunk);
            self.chunk = following;
        }
        true
    }

    /// The next record, if there is one.
    #[inline]
    pub fn peek(&mut self, arena: &Arena) -> Option<Record> {
        if self.next >= self.have && !self.follow(arena) {
            return None;
        }
        // SAFETY: `next` is below `have`, which counts published records.
        self.memory.map(|chunk| unsafe { read_record(chunk, self.next) })
    }

    /// The published records from the next one to the end of its chunk; they are still the next ones
    /// afterwards.
    #[inline]
    pub fn run(&mut self, arena: &Arena) -> Run {
        let there = self.next < self.have || self.follow(arena);
        match self.memory {
            Some(chunk) if there => Run { chunk, next: self.next, end: self.have },
            _ => Run { chunk: NonNull::dangling(), next: 0, end: 0 },
        }
    }

    #[inline]
    pub fn skip(&mut self, records: usize) {
        self.next += records;
    }

    /// Goes to the next chunk when this one is read to its end. Whether there is a record.
    #[cold]
    fn follow(&mut self, arena: &Arena) -> bool {
        if self.next < RECORDS_PER_CHUNK {
            return self.next < self.have;
        }
        if self.copies.pop_front().is_none() {
            let Some(following) = self.following(arena, self.chunk) else { return false };
            arena.recycle(self.chunk);
            self.chunk = following;
        }
        self.memory = self.copies.front().map(Copied::memory).or_else(|| arena.chunk(self.chunk));
        self.next = 0;
        self.count(arena);
        self.have > 0
    }

    /// The payload that follows a blob's record, which was skipped already.
    pub fn take_blob(&mut self, bytes: usize) -> Vec<u8> {
        let records = bytes.div_ceil(wire::RECORD_BYTES);
        let Some(chunk) = self.memory else { return Vec::new() };
        if records > RECORDS_PER_CHUNK - self.next.min(RECORDS_PER_CHUNK) {
            return Vec::new();
        }
        let mut payload = vec![0; bytes];
        // SAFETY: the payload's records lie within the chunk and were published together with their head.
        unsafe {
            let from = (&raw const (*chunk.as_ptr()).records).cast::<Record>().add(self.next).cast::<u8>();
            std::ptr::copy_nonoverlapping(from, payload.as_mut_ptr(), bytes);
        }
        self.next += records;
        payload
    }

    /// Ticks by which a record is sorted.
    #[inline]
    pub fn key(&self, record: &Record) -> u64 {
        match self.long_duration {
            Some(duration) => record.ticks() + BY_END[record.kind() as usize] as u64 * duration,
            // It may stand in the middle of an event that began before, and is written behind it.
            None if record.kind() == kind::MODULE => 0,
            None => plain_key(record),
        }
    }

    /// Time before which the thread will not write anything more: ticks. Stores of other processors become visible within
    /// `slack`.
    pub fn bound(&self, slack: u64) -> u64 {
        self.clear_until.saturating_sub(slack).max(self.last_ticks)
    }
}

/// Whether the next event that a thread will publish counts from later than now: the thread is not in a hook, or in one
/// whose event counts from the real function's return, which is still to come, or it waits between two events.
fn is_clear(word: u64, waits: u64) -> bool {
    let bits = word & (guard::RECORDER_AT_WORK | guard::COUNTS_AT_END);
    word == 0 || bits == guard::COUNTS_AT_END || waits == waiting::WAITS_BETWEEN
}

/// Ticks by which a record is sorted whose duration stands in itself.
#[inline(always)]
pub fn plain_key(record: &Record) -> u64 {
    record.ticks() + if BY_END[record.kind() as usize] { record.duration() } else { 0 }
}

/// Published records of one chunk, one after the other.
pub struct Run {
    chunk: NonNull<Chunk>,
    next: usize,
    end: usize, // at most RECORDS_PER_CHUNK
}

impl Run {
    /// The record that comes `distance` records after the next one.
    #[inline(always)]
    pub fn ahead(&self, distance: usize) -> Option<Record> {
        let index = self.next + distance;
        // SAFETY: `index` is below `end`, before which all records of the chunk are published.
        (index < self.end).then(|| unsafe { read_record(self.chunk, index) })
    }

    /// Fetches the record that comes `distance` records after the next one, from the processor that wrote it.
    #[inline(always)]
    pub fn prefetch(&self, distance: usize) {
        let first = self.chunk.as_ptr().cast::<Record>();
        memtoll_processor::prefetch(first.wrapping_add(self.next + distance));
    }
}

impl Iterator for Run {
    type Item = Record;

    #[inline(always)]
    fn next(&mut self) -> Option<Record> {
        if self.next >= self.end {
            return None;
        }
        // SAFETY: `next` is below `end`, before which all records of the chunk are published.
        let record = unsafe { read_record(self.chunk, self.next) };
        self.next += 1;
        Some(record)
    }
}

/// Whether a record is a call of a hooked function, and of which.
#[inline]
pub fn op_of(record: &Record) -> Option<Op> {
    Op::from_hook(record.kind())
}

/// The release half that goes with a [`kind::REALLOC_FROM`] record, given the record behind it.
pub fn release_half(following: &Record) -> Op {
    match op_of(following) {
        Some(op) if op.is_reallocation() => op.release_half(),
        _ => Op::REALLOC.release_half(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::op::Effect;

    #[test]
    fn a_thread_is_clear_where_its_next_event_begins_later() {
        let hook = 0x7ffd_0000_1230;
        assert!(is_clear(0, 0));
        assert!(!is_clear(hook, 0), "a release has been stamped");
        assert!(is_clear(hook | guard::COUNTS_AT_END, 0));
        assert!(!is_clear(hook | guard::COUNTS_AT_END | guard::RECORDER_AT_WORK, 0), "interrupted");
        assert!(!is_clear(hook | guard::RECORDER_AT_WORK, 0));
        assert!(!is_clear(hook | guard::RECORDER_AT_WORK, 1), "for the chunk of a blob inside an event");
        assert!(is_clear(hook | guard::RECORDER_AT_WORK, waiting::WAITS_BETWEEN));
    }

    #[test]
    fn releases_are_sorted_by_their_begin() {
        for op in Op::all().filter(|op| !op.is_pooled()) {
            match op.effect() {
                Effect::Acquire => assert!(BY_END[op.0 as usize], "{}", op.symbol()),
                Effect::Release => assert!(!BY_END[op.0 as usize], "{}", op.symbol()),
                Effect::Other | Effect::Lend => {}
            }
        }
        assert!(![Op::MUNMAP, Op::MADVISE, Op::MPROTECT].into_iter().any(|op| BY_END[op.0 as usize]));
        assert!([Op::MMAP, Op::MREMAP, Op::SBRK, Op::PTHREAD_CREATE].into_iter().all(|op| BY_END[op.0 as usize]));
        assert!(!BY_END[kind::REALLOC_FROM as usize]);
    }
}
