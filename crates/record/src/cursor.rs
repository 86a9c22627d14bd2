//! Where the supervisor stands in one thread's chain of chunks.

use crate::arena::{Arena, read_record};
use crate::wire::{self, Chunk, NO_CHUNK, RECORDS_PER_CHUNK, Record};
use memtoll_trace::op::Op;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed};

/// Reads a slot's records in the order in which they were written.
pub struct Cursor {
    slot: usize,
    chunk: u32,
    memory: Option<NonNull<Chunk>>,
    next: usize,
    have: usize,    // records of this chunk that are published
    published: u64, // of the slot, as last read
    /// Number of the thread whose records these are.
    pub thread: u32,
    /// Ticks of the last record taken.
    pub last_ticks: u64,
    /// The slot was seen idle at this time: whatever it writes later happened later. Ticks.
    pub idle_at: u64,
    /// Duration of the next record, if it does not fit there.
    pub long_duration: Option<u64>,
}

// SAFETY: the chunk's memory belongs to the arena, which outlives its cursors and may be used by any thread.
unsafe impl Send for Cursor {}

/// For each kind of record, whether it is sorted by its end (an acquisition) or its begin.
pub const BY_END: [bool; 256] = by_end();

const fn by_end() -> [bool; 256] {
    let mut table = [false; 256];
    let mut kind = 1;
    while kind < 42 {
        // Acquisitions of blocks, mappings and threads are there when the call returns.
        table[kind] = !matches!(kind, 10..=13 | 22..=33 | 36 | 38);
        kind += 1;
    }
    table
}

impl Cursor {
    pub fn new(slot: usize) -> Cursor {
        Cursor {
            slot,
            chunk: NO_CHUNK,
            memory: None,
            next: 0,
            have: 0,
            published: 0,
            thread: 0,
            last_ticks: 0,
            idle_at: 0,
            long_duration: None,
        }
    }

    /// Looks how far the thread has come. Whether the slot is idle now.
    pub fn refresh(&mut self, arena: &Arena, now: u64) -> bool {
        let Some(slot) = arena.slots().get(self.slot) else { return true };
        let idle = slot.guard.load(Acquire) == 0;
        self.published = slot.published.load(Acquire);
        if self.memory.is_none() && self.published != 0 {
            let first = slot.first_chunk.load(Acquire).wrapping_sub(1);
            self.memory = arena.chunk(first);
            self.chunk = first;
        }
        if idle {
            self.idle_at = now;
        }
        if self.memory.is_some() {
            self.count(arena);
        }
        idle
    }

    fn count(&mut self, arena: &Arena) {
        // Anywhere else than in this chunk means that this chunk is full.
        self.have = arena.records_before(self.chunk, self.published).unwrap_or(RECORDS_PER_CHUNK);
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
        let Some(chunk) = self.memory else { return false };
        if self.next >= RECORDS_PER_CHUNK && arena.records_before(self.chunk, self.published).is_none() {
            // SAFETY: the chunk lies within the arena and the field is atomic.
            let following = unsafe { (*chunk.as_ptr()).next.load(Acquire) };
            let Some(memory) = arena.chunk(following) else { return false };
            arena.recycle(self.chunk);
            self.chunk = following;
            self.memory = Some(memory);
            self.next = 0;
            self.count(arena);
            return self.have > 0;
        }
        self.next < self.have
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
            None => plain_key(record),
        }
    }

    /// Time before which the thread will not write anything more. Ticks.
    pub fn bound(&self, arena: &Arena, slack: u64) -> u64 {
        let waiting = arena.slots().get(self.slot).map_or(0, |slot| slot.waiting_since.load(Relaxed));
        let seen = self.idle_at.saturating_sub(slack).max(self.last_ticks);
        if waiting != 0 { waiting.max(self.last_ticks) } else { seen }
    }
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
    let number = record.kind();
    (1..42).contains(&number).then_some(Op(number))
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
    use crate::wire::kind;
    use memtoll_trace::op::Effect;

    #[test]
    fn releases_are_sorted_by_their_begin() {
        for op in Op::all() {
            match op.effect() {
                Effect::Acquire => assert!(BY_END[op.0 as usize], "{}", op.symbol()),
                Effect::Release => assert!(!BY_END[op.0 as usize], "{}", op.symbol()),
                Effect::Other => assert_eq!(BY_END[op.0 as usize], !matches!(op.symbol(), "munmap" | "madvise")),
            }
        }
        assert!(!BY_END[kind::REALLOC_FROM as usize]);
    }
}
