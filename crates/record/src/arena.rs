//! The memory shared with one process image: made here, mapped by the recorder, read while the program runs.
//!
//! The target can write anything into it, so nothing read from it is trusted: numbers are checked before they become
//! addresses, and a broken arena ends in an error, not in a crash.

use crate::bytes_range::BytesRange;
use crate::proc_files;
use crate::wire::{self, ArenaHeader, Chunk, Record, StackNode, ThreadSlot, at_end, before_giving_back};
use memtoll_trace::ids::{ImageNo, NodeId, ThreadNo};
use memtoll_trace::nodes::Node;
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use rustix::thread::futex;
use std::io;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::time::Duration;

/// More than the threads that a process may have: each slot in use needs a chunk.
const MAX_SLOTS: u64 = 1 << 16;
const MAX_CHUNKS: u64 = MAX_SLOTS + 64;
const MAX_NODES: u64 = 64 << 20;
/// As many chunks as any target may have: 16 MiB, or some for each thread. For a burst, there are more (chunk_quota.rs).
pub const ENOUGH_CHUNKS: u32 = 256;
const CHUNKS_PER_THREAD: u32 = 4;

struct Room {
    slots: u64,
    chunks: u64,
    nodes: u64,
}

impl Room {
    /// Within a limited address space, the arena takes an eighth of it at the most, but for the very smallest ones.
    fn within(limit: u64) -> Room {
        if limit == u64::MAX {
            return Room { slots: MAX_SLOTS, chunks: MAX_CHUNKS, nodes: MAX_NODES };
        }
        let half = limit / 16;
        let chunks = (half / wire::CHUNK_BYTES as u64).clamp(16, MAX_CHUNKS);
        Room { slots: chunks, chunks, nodes: (half / size_of::<StackNode>() as u64).clamp(1 << 16, MAX_NODES) }
    }
}

/// What a new arena is made for.
pub struct Settings {
    pub image: ImageNo,
    pub stack_depth: u32,
    /// Whether the process waits at its end until its memory has been searched for lost blocks.
    pub searches_leaks: bool,
    pub clock: u32,
    pub ticks_per_microsecond: u32,
    /// The time, ticks.
    pub now: u64,
    /// The target's limit of address space, bytes.
    pub address_space_limit: u64,
}

pub struct Arena {
    base: NonNull<u8>,
    bytes: usize,
    // Copies of what stands in the header, where the target could change it.
    slots_offset: u64,
    chunks_offset: u64,
    nodes_offset: u64,
    slots: u32,
    chunks: u32,
    nodes: u32,
    recycled: AtomicU64,
}

// SAFETY: what is shared is atomics and records that are only read after they were published.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// An arena, and the descriptor to pass to the recorder.
    pub fn new(settings: &Settings) -> io::Result<(Arena, OwnedFd)> {
        let Room { slots, chunks, nodes } = Room::within(settings.address_space_limit);
        let page = proc_files::page();
        let slots_offset = page;
        let chunks_offset = (slots_offset + slots * size_of::<ThreadSlot>() as u64).next_multiple_of(page);
        let nodes_offset = chunks_offset + chunks * wire::CHUNK_BYTES as u64;
        let bytes = nodes_offset + nodes * size_of::<StackNode>() as u64;

        let fd = memfd_create("memtoll", MemfdFlags::CLOEXEC)?;
        ftruncate(&fd, bytes)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::NORESERVE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let base = unsafe { mmap(std::ptr::null_mut(), bytes as usize, protection, flags, &fd, 0)? };
        let base = NonNull::new(base.cast::<u8>()).ok_or_else(|| io::Error::other("mapped at address 0"))?;
        let header = base.cast::<ArenaHeader>().as_ptr();
        // SAFETY: the mapping is larger than the header, zeroed, and has no other user yet.
        unsafe {
            (*header).magic = wire::MAGIC;
            (*header).version = wire::VERSION;
            (*header).max_slots = slots as u32;
            (*header).arena_bytes = bytes;
            (*header).slots_offset = slots_offset;
            (*header).chunks_offset = chunks_offset;
            (*header).nodes_offset = nodes_offset;
            (*header).max_chunks = chunks as u32;
            (*header).max_nodes = nodes as u32;
            (*header).stack_depth = settings.stack_depth;
            (*header).searches_leaks = settings.searches_leaks.into();
            (*header).clock = settings.clock;
            (*header).ticks_per_microsecond = settings.ticks_per_microsecond;
            (*header).image = settings.image.get();
            (*header).chunk_limit.store(wire::kept_chunks(0), Relaxed);
            (*header).free_chunks.store(wire::NO_CHUNK as u64, Relaxed);
            (*header).burst_chunks.store(wire::NO_CHUNK as u64, Relaxed);
            (*header).time.store(settings.now, Relaxed);
            (*header).node_count.store(wire::FIRST_NODE, Release);
        }
        let arena = Arena {
            base,
            bytes: bytes as usize,
            slots_offset,
            chunks_offset,
            nodes_offset,
            slots: slots as u32,
            chunks: chunks as u32,
            nodes: nodes as u32,
            recycled: AtomicU64::new(0),
        };
        Ok((arena, fd))
    }

    /// What the recorder has in the target's memory, with the program's unwinding tables that it has read: without the
    /// recorder, some of these are there all the same.
    pub fn own_memory(&self) -> BytesRange {
        const KIB: u64 = 1024;
        // The recorder looks again when its share may have grown by more (footprint.cpp: kPart, kStep).
        const PART: u64 = 16;
        const STEP: u64 = 64 * KIB;
        let word = self.header().own_memory.load(Relaxed);
        let (own, tables) = ((word & u64::from(u32::MAX)) * KIB, (word >> 32) * KIB);
        BytesRange { least: own, most: own + tables + (own / PART).max(STEP) }
    }

    /// Bytes of the whole arena.
    pub fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    pub fn header(&self) -> &ArenaHeader {
        // SAFETY: the header lies at the start; fields that change are atomic.
        unsafe { self.base.cast::<ArenaHeader>().as_ref() }
    }

    /// The time before which nothing is written that was not seen until now, in ticks. `now` is the true time.
    ///
    /// Where the process may not read the clock, it stamps its events with a time that stands here; then it goes on to
    /// the true one.
    pub fn time(&self, now: u64) -> u64 {
        if !self.has_own_time() {
            return now;
        }
        self.header().time.fetch_max(now, AcqRel).max(now)
    }

    /// Whether the process may not read the processor's counter.
    pub fn has_own_time(&self) -> bool {
        self.header().counter_forbidden.load(Acquire) != 0
    }

    /// Slots that threads have used so far.
    pub fn slots(&self) -> &[ThreadSlot] {
        let used = (self.header().slots_used.load(Acquire) as usize).min(self.slots as usize);
        // SAFETY: all slots lie within the mapping and are atomics only.
        unsafe { std::slice::from_raw_parts(self.base.as_ptr().add(self.slots_offset as usize).cast(), used) }
    }

    /// A chunk; `None` if the number is not one.
    #[inline]
    pub fn chunk(&self, number: u32) -> Option<NonNull<Chunk>> {
        if number >= self.chunks {
            return None;
        }
        let offset = self.chunks_offset as usize + number as usize * wire::CHUNK_BYTES;
        // SAFETY: within the mapping, as the number is one of a chunk.
        Some(unsafe { self.base.add(offset).cast() })
    }

    /// Where in which chunk an address of the target lies: number of the record behind the last published one.
    #[inline]
    pub fn records_before(&self, chunk: u32, published: u64) -> Option<usize> {
        let offset = published.wrapping_sub(self.header().mapped_at.load(Relaxed));
        let start = self.chunks_offset + chunk as u64 * wire::CHUNK_BYTES as u64 + wire::RECORD_BYTES as u64;
        let records = offset.wrapping_sub(start) / wire::RECORD_BYTES as u64;
        (records <= wire::RECORDS_PER_CHUNK as u64).then_some(records as usize)
    }

    /// The opposite: what a slot says when this many records of a chunk are published.
    pub(crate) fn published_at(&self, chunk: u32, records: usize) -> u64 {
        let before = chunk as usize * wire::CHUNK_BYTES + (records + 1) * wire::RECORD_BYTES;
        self.header().mapped_at.load(Relaxed) + self.chunks_offset + before as u64
    }

    /// Writes a record as the recorder does, before it is published.
    pub(crate) fn write_record(&self, chunk: u32, index: usize, record: Record) {
        assert!(index < wire::RECORDS_PER_CHUNK);
        if let Some(chunk) = self.chunk(chunk) {
            // SAFETY: the chunk lies within the mapping, the record within the chunk, and nothing reads it yet.
            unsafe { (&raw mut (*chunk.as_ptr()).records[index]).write_volatile(record) };
        }
    }

    /// Says that a slot goes on in another chunk.
    pub(crate) fn link_chunk(&self, full: u32, next: u32) {
        if let Some(full) = self.chunk(full) {
            // SAFETY: the chunk lies within the mapping and the field is atomic.
            unsafe { (*full.as_ptr()).next.store(next, Release) };
        }
    }

    /// Gives a chunk back to the recorder that was drained. The recorder takes the last one first, so that it uses few.
    pub fn recycle(&self, number: u32) {
        self.recycled.fetch_add(1, Relaxed);
        self.hand_out(number);
    }

    /// Gives a chunk to the recorder.
    pub fn hand_out(&self, number: u32) {
        let Some(chunk) = self.chunk(number) else { return };
        let header = self.header();
        let kept = wire::kept_chunks(header.slots_used.load(Relaxed));
        let stack = if number < kept { &header.free_chunks } else { &header.burst_chunks };
        let mut head = stack.load(Acquire);
        loop {
            // SAFETY: the chunk lies within the mapping and the field is atomic.
            unsafe { (*chunk.as_ptr()).next_free.store(head as u32, Relaxed) };
            let new = (head >> 32).wrapping_add(1) << 32 | number as u64;
            match stack.compare_exchange_weak(head, new, AcqRel, Acquire) {
                Ok(_) => break,
                Err(now) => head = now,
            }
        }
        header.chunk_returned.fetch_add(1, Release);
    }

    /// A free chunk, taken away from the recorder: one of those for bursts, if there is any.
    pub fn pop_free(&self) -> Option<u32> {
        let header = self.header();
        self.pop(&header.burst_chunks).or_else(|| self.pop(&header.free_chunks))
    }

    fn pop(&self, stack: &AtomicU64) -> Option<u32> {
        let mut head = stack.load(Acquire);
        loop {
            let chunk = self.chunk(head as u32)?;
            // SAFETY: the chunk lies within the mapping and the field is atomic.
            let next = unsafe { (*chunk.as_ptr()).next_free.load(Relaxed) };
            let new = (head >> 32).wrapping_add(1) << 32 | next as u64;
            match stack.compare_exchange_weak(head, new, AcqRel, Acquire) {
                Ok(_) => return Some(head as u32),
                Err(now) => head = now,
            }
        }
    }

    /// Takes a free chunk away from the recorder and gives its memory back to the system.
    pub fn take_back(&self) -> Option<u32> {
        let number = self.pop_free()?;
        let chunk = self.chunk(number)?;
        // SAFETY: the chunk lies within the mapping, and what is in it is not used. If the kernel does not do it, it stays.
        let _ = unsafe { madvise(chunk.as_ptr().cast(), wire::CHUNK_BYTES, Advice::LinuxRemove) };
        Some(number)
    }

    /// How many chunks were given back so far.
    pub fn recycled(&self) -> u64 {
        self.recycled.load(Relaxed)
    }

    /// Wakes threads of the target that wait for a chunk.
    pub fn wake_waiting(&self) {
        let _ = futex::wake(&self.header().chunk_returned, futex::Flags::empty(), i32::MAX as u32);
    }

    /// Wakes threads of the target that wait until calls are recorded.
    pub fn wake_held(&self) {
        let _ = futex::wake(&self.header().start, futex::Flags::empty(), i32::MAX as u32);
    }

    /// Whether a thread waits at the end of the process for a look at its memory.
    pub fn awaits_look_at_end(&self) -> bool {
        self.header().look_wanted.load(SeqCst) != 0 && self.header().look_at_end.load(SeqCst) == at_end::AWAITED
    }

    /// That look is over, and the thread goes on.
    pub fn end_look_at_end(&self) {
        let look = &self.header().look_at_end;
        let _ = look.compare_exchange(at_end::AWAITED, at_end::LOOKED_AT, AcqRel, Acquire);
        let _ = futex::wake(look, futex::Flags::empty(), 1);
    }

    /// For what looks (`wire::look`) it waited until it gave up.
    pub fn looks_missed(&self) -> u32 {
        match self.header().look_at_end.load(Acquire) {
            at_end::GIVEN_UP => self.header().look_wanted.load(Relaxed),
            _ => 0,
        }
    }

    /// From this resident set on, KiB, threads wait for a look at the pages before they give memory back. 0: they do not.
    pub fn set_look_above(&self, kib: u32) {
        self.header().look_above_kib.store(kib, Relaxed);
    }

    /// Whether a thread waits for such a look.
    pub fn is_look_asked(&self) -> bool {
        self.header().look_before_giving_back.load(Acquire) == before_giving_back::LOOK_ASKED
    }

    /// The look begins. False: it is no longer wanted.
    pub fn begin_look(&self) -> bool {
        self.change_look(before_giving_back::LOOK_ASKED, before_giving_back::LOOKING)
    }

    /// The look is over, and the thread goes on. False: it went on before.
    pub fn end_look(&self) -> bool {
        let has_waited = self.change_look(before_giving_back::LOOKING, before_giving_back::NO_LOOK);
        let _ = futex::wake(&self.header().look_before_giving_back, futex::Flags::empty(), 1);
        has_waited
    }

    fn change_look(&self, from: u32, to: u32) -> bool {
        self.header().look_before_giving_back.compare_exchange(from, to, AcqRel, Acquire).is_ok()
    }

    /// Whether a thread of the target waits for a chunk.
    pub fn is_awaited(&self) -> bool {
        self.slots().iter().any(|slot| slot.waiting.load(Acquire) != 0)
    }

    /// Wakes the thread that drains this arena.
    pub fn ring(&self) {
        self.header().doorbell.fetch_add(1, Release);
        let _ = futex::wake(&self.header().doorbell, futex::Flags::empty(), 1);
    }

    /// Sleeps until the doorbell rings after it showed `seen`, or for a `time` of less than a second. Whether the bell was
    /// rung and not heard.
    pub fn sleep(&self, seen: u32, time: Duration) -> bool {
        let timeout = rustix::time::Timespec { tv_sec: 0, tv_nsec: time.subsec_nanos().into() };
        let bell = &self.header().doorbell;
        let slept = futex::wait(bell, futex::Flags::empty(), seen, Some(&timeout));
        slept == Err(rustix::io::Errno::TIMEDOUT) && bell.load(Acquire) != seen
    }

    /// Gives the memory of chunks and nodes back to the system, which the target would keep for as long as it has the arena mapped.
    /// Recording is over: a hook that was interrupted then writes into empty pages.
    pub fn give_back(&self) {
        let start = self.chunks_offset as usize;
        // SAFETY: within the mapping; nothing reads it any more. If the kernel does not do it, it stays.
        let _ = unsafe { madvise(self.base.as_ptr().add(start).cast(), self.bytes - start, Advice::LinuxRemove) };
    }

    /// Chunks that the target may use now.
    pub fn chunk_limit(&self) -> usize {
        self.header().chunk_limit.load(Relaxed) as usize
    }

    /// Chunks that stay in the target's memory.
    pub fn kept_chunks(&self) -> usize {
        wire::kept_chunks(self.header().slots_used.load(Relaxed)).min(self.chunks) as usize
    }

    /// Lets the target use all chunks that stay in its memory.
    pub fn allow_kept_chunks(&self) {
        let kept = self.kept_chunks();
        if self.chunk_limit() < kept {
            self.header().chunk_limit.store(kept as u32, Release);
        }
    }

    /// Lets the target use more chunks, if it does not use enough already.
    pub fn allow_more_chunks(&self) -> bool {
        let limit = self.header().chunk_limit.load(Relaxed);
        let threads = self.header().slots_used.load(Relaxed);
        let most = threads.saturating_mul(CHUNKS_PER_THREAD).max(ENOUGH_CHUNKS).min(self.chunks);
        if limit < most {
            self.header().chunk_limit.store((limit * 2).min(most), Release);
        }
        limit < most
    }

    /// Lets the target use more chunks, or fewer.
    pub fn add_to_chunk_limit(&self, more: i32) {
        let limit = self.header().chunk_limit.load(Relaxed);
        self.header().chunk_limit.store(limit.saturating_add_signed(more).min(self.chunks), Release);
    }

    /// Chunks that the target may use and never did.
    pub fn allowed_but_unused(&self) -> u32 {
        let header = self.header();
        header.chunk_limit.load(Relaxed).saturating_sub(header.chunks_used.load(Relaxed))
    }

    /// Chunks that the target may not use yet.
    pub fn unused_chunks(&self) -> u32 {
        self.chunks.saturating_sub(self.header().chunk_limit.load(Relaxed))
    }

    /// Number of stack nodes in use, roots included.
    pub fn node_count(&self) -> u32 {
        self.header().node_count.load(Acquire).clamp(wire::FIRST_NODE, self.nodes)
    }

    /// Adds a stack node that stands for no call, so that the recorder never uses it. None: there is no room.
    pub fn add_node(&self, parent: NodeId, address: u64) -> Option<NodeId> {
        let id = NodeId::new(self.header().node_count.fetch_add(1, AcqRel)).filter(|id| id.get() < self.nodes)?;
        let offset = self.nodes_offset as usize + id.index() * size_of::<StackNode>();
        // SAFETY: within the mapping; a node is written by who has counted it, and its parent before its key.
        unsafe {
            let node = self.base.as_ptr().add(offset).cast::<StackNode>();
            std::ptr::write_volatile(&raw mut (*node).parent, parent.get());
            (*node).key.store(address & wire::ADDRESS_MASK, Release);
        }
        Some(id)
    }

    /// A thread number that no thread of the process gets.
    pub fn add_thread(&self) -> Option<ThreadNo> {
        ThreadNo::new(self.header().threads_begun.fetch_add(1, AcqRel) + 1)
    }

    /// A stack node; `None` if it is not written yet.
    pub fn node(&self, id: NodeId) -> Option<Node> {
        if id.get() >= self.nodes {
            return None;
        }
        let offset = self.nodes_offset as usize + id.index() * size_of::<StackNode>();
        // SAFETY: within the mapping; the parent is written before the key is published.
        let (key, parent) = unsafe {
            let node = self.base.as_ptr().add(offset).cast::<StackNode>();
            let key = (*node).key.load(Acquire);
            (key, std::ptr::read_volatile(&raw const (*node).parent))
        };
        let without_tables = key & wire::WITHOUT_TABLES != 0;
        let module = ((key & !wire::WITHOUT_TABLES) >> wire::MODULE_SHIFT) as u16;
        let address = key & wire::ADDRESS_MASK;
        (key != 0).then_some(Node { id, parent: NodeId::new(parent), module, address, without_tables })
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: nothing refers to the mapping after its owner is gone.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.bytes) };
    }
}

/// A published record.
///
/// # Safety
/// `index` must be below `RECORDS_PER_CHUNK` and the record must be published.
#[inline(always)]
pub unsafe fn read_record(chunk: NonNull<Chunk>, index: usize) -> Record {
    // SAFETY: the caller vouches for the index; a target gone mad may change the record while it is read, so it is
    // copied once.
    unsafe { std::ptr::read(&raw const (*chunk.as_ptr()).records[index]) }
}
