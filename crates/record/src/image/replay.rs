//! Plays the recorder's part: writes the events of a recording into shared memory again and lets a worker take them, as from a
//! process. The kernel tells of nothing meanwhile, so no costs are joined.

use super::Worker;
use crate::Destination;
use crate::arena::{Arena, Settings};
use crate::chunk_cursor::BY_END;
use crate::clock::{Clock, UNIT_TICKS_LOG2};
use crate::output::Output;
use crate::run::{Run, Signals};
use crate::wire::{self, DETAIL_SHIFT, DURATION_SHIFT, RECORDS_PER_CHUNK, Record, kind};
use memtoll_trace::event::{Block, Event};
use memtoll_trace::ids::{BlockNo, ImageNo, NodeId, ThreadNo, Units};
use memtoll_trace::meta::{Exit, Image};
use memtoll_trace::op::{Effect, Op};
use rustc_hash::FxHashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};

/// Records that an event takes at the most: two halves of a reallocation, and a duration of its own.
const MOST_RECORDS: usize = 3;

/// Where a thread writes.
struct Lane {
    slot: usize,
    chunk: u32,
    used: usize,
    /// The first half of a reallocation, published with the second.
    half: Option<Record>,
}

/// A worker and the recorder for it.
pub struct Replay {
    worker: Worker,
    lanes: FxHashMap<ThreadNo, Lane>,
    /// Chunks that were used so far.
    chunks: u32,
    /// The last time, units.
    last: Units,
    /// Of all blocks, by number: events of a file lack some.
    addresses: Vec<u64>,
}

impl Replay {
    /// A process that has not begun. What the worker packs goes to `output`.
    pub fn new(output: &Destination) -> io::Result<Replay> {
        let output = Output::create(output, None)?;
        output.keep();
        let run = Arc::new(Run::new(output, Clock::start(), 64, false, memtoll_symbols::DebugFolders::default()));
        let settings = Settings {
            image: ImageNo::FIRST,
            stack_depth: run.stack_depth,
            searches_leaks: false,
            clock: run.around.clock.wire(),
            ticks_per_microsecond: run.around.ticks_per_microsecond as u32,
            now: run.around.clock.now(),
            address_space_limit: u64::MAX,
        };
        let (arena, _descriptor) = Arena::new(&settings)?;
        let about = Image {
            image: ImageNo::FIRST,
            pid: std::process::id(),
            parent: 0,
            forked_from: None,
            forked_at: None,
            name: "replay".to_owned(),
            command: Vec::new(),
            executable: String::new(),
            began: 0,
            rank: None,
        };
        let nothing = std::fs::File::open("/dev/null")?;
        let worker = Worker::new(run, Arc::new(arena), Arc::new(Signals::default()), &about, Arc::new(nothing.into()));
        Ok(Replay { worker, lanes: FxHashMap::default(), chunks: 0, last: Units::ZERO, addresses: Vec::new() })
    }

    /// Writes events as the recorder does, until there is no free chunk. How many that were; events that are no calls of hooked
    /// functions are passed over.
    pub fn write(&mut self, events: &[Event]) -> usize {
        let written = events.iter().take_while(|event| self.write_one(event)).count();
        let arena = &self.worker.arena;
        for lane in self.lanes.values() {
            arena.slots()[lane.slot].published.store(arena.published_at(lane.chunk, lane.used), Release);
        }
        written
    }

    /// Lets the worker take all that was written. How many records that were.
    pub fn drain(&mut self) -> u64 {
        let now = self.worker.run.around.clock.now();
        self.worker.refresh(now, 0);
        std::iter::repeat_with(|| self.worker.merge(u64::MAX, u64::MAX)).take_while(|taken| *taken > 0).sum()
    }

    /// The process ends. Returns the length of the recording, bytes.
    pub fn finish(mut self) -> u64 {
        let ended = self.worker.run.around.clock.ticks(self.last);
        let mut sink = self.worker.parent_sink.sink();
        sink.finish(&self.worker.arena, Some(Exit::Code(0)), ended, None);
        drop(sink);
        self.drain();
        self.worker.run.output.bytes()
    }
}

impl Replay {
    /// Whether there was room for an event.
    fn write_one(&mut self, event: &Event) -> bool {
        let is_call =
            Op::from_hook(event.op.whole().0).is_some() && ![Op::TOUCHED, Op::BEFORE, Op::LEND].contains(&event.op);
        if !is_call {
            return true;
        }
        if !self.reserve(event) {
            return false;
        }
        let address = self.address(event);
        let Some(lane) = self.lanes.get_mut(&event.thread) else { return false };
        let clock = &self.worker.run.around.clock;
        self.last = event.time;
        let (ticks, duration) = (clock.ticks(event.time), event.duration.0 << UNIT_TICKS_LOG2);
        let (head, tail) = (ticks.0 << wire::TICKS_SHIFT, u64::from(NodeId::or_zero(event.node)));
        if event.op.is_release_half() {
            let half = Record { head: head | u64::from(kind::REALLOC_FROM), address, size: event.size.0, tail };
            lane.half = Some(half);
            return true;
        }
        let begin = if BY_END[usize::from(event.op.0)] { ticks.0 - duration } else { ticks.0 } << wire::TICKS_SHIFT;
        let long = u32::try_from(duration).is_err();
        let stored = if long { 0 } else { duration };
        let long =
            long.then_some(Record { head: begin | u64::from(kind::LONG_DURATION), address: duration, size: 0, tail });
        let call = Record {
            head: begin | u64::from(event.op.0),
            address,
            size: event.size.0 | u64::from(event.detail) << DETAIL_SHIFT,
            tail: tail | stored << DURATION_SHIFT,
        };
        let records = [lane.half.take(), long, Some(call)];
        records.into_iter().flatten().for_each(|record| lane.put(&self.worker.arena, record));
        true
    }

    /// The address that an event is about.
    fn address(&mut self, event: &Event) -> u64 {
        let Block::Number(BlockNo(number)) = event.block else { return event.address.0 };
        let number = number as usize;
        if event.op.effect() == Effect::Acquire {
            self.addresses.resize(self.addresses.len().max(number + 1), 0);
            self.addresses[number] = event.address.0;
        }
        self.addresses.get(number).copied().unwrap_or(event.address.0)
    }

    /// Whether the thread of an event has room for it.
    fn reserve(&mut self, event: &Event) -> bool {
        let lane = self.lanes.get(&event.thread);
        if lane.is_some_and(|lane| lane.used + MOST_RECORDS <= RECORDS_PER_CHUNK) {
            return true;
        }
        let arena = &self.worker.arena;
        let header = arena.header();
        let fresh = (self.chunks as usize) < arena.kept_chunks();
        let Some(chunk) = arena.pop_free().or_else(|| fresh.then_some(self.chunks)) else { return false };
        self.chunks = self.chunks.max(chunk + 1);
        if let Some(lane) = self.lanes.get_mut(&event.thread) {
            while lane.used < RECORDS_PER_CHUNK {
                lane.put(arena, Record { head: u64::from(kind::PADDING), address: 0, size: 0, tail: 0 });
            }
            arena.link_chunk(lane.chunk, chunk);
            (lane.chunk, lane.used) = (chunk, 0);
            return true;
        }
        let slot = header.slots_used.fetch_add(1, Relaxed) as usize;
        arena.slots()[slot].first_chunk.store(chunk + 1, Release);
        let mut lane = Lane { slot, chunk, used: 0, half: None };
        let number = event.thread.get();
        let ticks = self.worker.run.around.clock.ticks(event.time.saturating_sub(event.duration));
        let head = ticks.0 << wire::TICKS_SHIFT | u64::from(kind::THREAD_BEGIN);
        let begin = Record { head, address: 0, size: number.into(), tail: number.into() };
        lane.put(arena, begin);
        self.lanes.insert(event.thread, lane);
        true
    }
}

impl Lane {
    fn put(&mut self, arena: &Arena, record: Record) {
        arena.write_record(self.chunk, self.used, record);
        self.used += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::events::Decoder;
    use memtoll_trace::frame::BlockKind;
    use memtoll_trace::ids::{Address, Bytes};
    use memtoll_trace::reader::Reader;

    /// Two threads, more events than there is room for at once, calls longer than a record can say, and reallocations.
    #[test]
    fn a_replay_writes_the_events_that_it_reads() {
        let event = |time: u64, op, address, block, size| Event {
            time: Units(time),
            duration: Units(if time % 1000 == 548 { 1 << 30 } else { 3 }),
            size: Bytes(size),
            address: Address(address),
            block: Block::Number(BlockNo(block)),
            node: NodeId::new(100 + (time % 7) as u32),
            thread: if block % 3 == 0 { ThreadNo::FIRST } else { ThreadNo::FIRST.later(1) },
            detail: 0,
            op,
        };
        let mut events = Vec::new();
        for round in 0..20_000u64 {
            let (time, block, address) = ((2 << 30) + round * 100, round * 2, 0x5000 + round % 500 * 64);
            events.push(event(time, Op::MALLOC, address, block, 24));
            let half = event(time + 10, Op::REALLOC.release_half(), address, block, 0);
            let thread = half.thread;
            events.push(Event { duration: Units::ZERO, ..half });
            events.push(Event { thread, ..event(time + 20, Op::REALLOC, address + 32, block + 1, 48) });
            events.push(Event { thread, ..event(time + 30, Op::FREE, address + 32, block + 1, 0) });
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("recording");
        let mut replay = Replay::new(&Destination::New(path.clone())).unwrap();
        let mut rest = &events[..];
        while !rest.is_empty() {
            rest = &rest[replay.write(rest)..];
            assert!(replay.drain() > 0);
        }
        let bytes = replay.finish();
        let reader = Reader::open(&path).unwrap();
        assert_eq!(reader.bytes, bytes);
        let (mut decoder, mut payload, mut packed) = (Decoder::new(), Vec::new(), Vec::new());
        for block in reader.blocks.iter().filter(|block| block.header.kind == BlockKind::Events) {
            reader.payload(block, &mut payload).unwrap();
            let mut of_block = Vec::new();
            decoder.decode(&payload, &mut of_block).unwrap();
            packed.append(&mut of_block);
        }
        assert_eq!(packed.len(), events.len());
        for (packed, event) in packed.iter().zip(&events) {
            // A file has the address of a block at its acquisition.
            let address = if event.op.effect() == Effect::Acquire { event.address } else { packed.address };
            assert_eq!(*packed, Event { address, ..*event });
        }
    }
}
