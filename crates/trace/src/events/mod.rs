//! The payload of an events block: up to [`MAX_EVENTS`] events of one process image, as compressed columns.
//!
//! Programs repeat themselves, so most of what an event says can be guessed from the events before it. A flag byte says
//! which guesses were right; only wrong ones cost bytes in another column:
//!
//! * **Site** (function, detail and stack together): an acquisition is expected to come from where the thread's next
//!   acquisition came from the last time the thread was here; a release, from where the last block of the same origin was
//!   released.
//! * **Size**: as the last time from this site.
//! * **Address**: that of the block of the same size class that was released last, as allocators do it.
//! * **Thread**: the same as the event before.
//!
//! Nothing is guessed from an earlier block: every events block can be read alone. Reader and writer share the guessing
//! ([`Guesses`]), so they cannot disagree.

use crate::Damage;
use crate::bytes::{Bytes, put_varint, unzigzag, zigzag};
use crate::event::{Block, Event};
use crate::op::{Effect, Op};

/// Events in a block at the most.
pub const MAX_EVENTS: usize = 1 << 16;

/// A column of 64 K entries never needs more bytes than this (an address may take 11); a larger one is damage.
const MAX_COLUMN_BYTES: usize = MAX_EVENTS * 11;

/// Times and durations are one byte an event. This one says that the rest of the value stands in the column of excess.
const EXCESS: u8 = 255;

// Flag bits.
const SITE_GUESSED: u8 = 1;
const SIZE_GUESSED: u8 = 2;
const ADDRESS_GUESSED: u8 = 4;
const OTHER_THREAD: u8 = 8;
const NO_ADDRESS: u8 = 16;
const RELEASE: u8 = 32;

// What a release refers to: 0, 1, or 2 + the number of acquisitions since its block's.
const REF_NULL: u64 = 0;
const REF_UNKNOWN: u64 = 1;
const REF_DISTANCE: u64 = 2;

/// Columns in the order of the file.
#[derive(Clone, Copy)]
enum Column {
    Flags,
    Time,
    Duration,
    Excess,
    Site,
    NewSite,
    Size,
    Address,
    Reference,
    Thread,
}
const COLUMNS: usize = 10;

/// A column being filled. Its memory is there from the start: one bounds check is all that adding a byte costs.
struct Buffer {
    bytes: Box<[u8]>,
    len: usize,
}

impl Buffer {
    fn new() -> Self {
        Buffer { bytes: vec![0; MAX_COLUMN_BYTES].into_boxed_slice(), len: 0 }
    }

    #[inline(always)]
    fn put(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    #[inline(always)]
    fn put_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.put(value as u8 | 0x80);
            value >>= 7;
        }
        self.put(value as u8);
    }
}

/// Where events come from: a function, its detail, and a stack. Numbered by first appearance in the block.
#[derive(Clone, Copy)]
struct Site {
    node: u32,
    next: u32,    // site of the acquisition (or release) that followed one from here
    release: u32, // site that released the last block from here
    detail: u16,
    op: Op,
    size: u64,
}

const NO_SITE: u32 = u32::MAX;

/// What is known of a block acquired in this events block.
#[derive(Clone, Copy)]
struct Recent {
    address: u64,
    size: u64,
    site: u32,
}

/// The last addresses released, by size class.
struct Freed {
    epoch: u32,
    top: u32,
    addresses: [u64; FREED_DEPTH],
}
const FREED_DEPTH: usize = 7;
const SIZE_CLASSES: usize = 512;

#[derive(Clone, Copy)]
struct ThreadGuess {
    last_acquire: u32,
    last_release: u32,
}

/// The state from which both sides guess.
struct Guesses {
    sites: Vec<Site>,
    recent: Vec<Recent>,
    freed: Box<[Freed]>,
    epoch: u32,
    threads: Vec<ThreadGuess>,
    thread_index: Vec<(u32, u32)>, // (thread, index in `threads`), small
    thread: u32,
    thread_at: usize,
    last_address: u64,
}

impl Guesses {
    fn new() -> Self {
        let none = || Freed { epoch: 0, top: 0, addresses: [0; FREED_DEPTH] };
        Guesses {
            sites: Vec::new(),
            recent: Vec::new(),
            freed: (0..SIZE_CLASSES).map(|_| none()).collect(),
            epoch: 0,
            threads: Vec::new(),
            thread_index: Vec::new(),
            thread: 0,
            thread_at: 0,
            last_address: 0,
        }
    }

    fn restart(&mut self, thread: u32) {
        self.sites.clear();
        self.recent.clear();
        self.epoch += 1;
        self.threads.clear();
        self.thread_index.clear();
        self.last_address = 0;
        self.switch_thread(thread);
    }

    #[cold]
    fn switch_thread(&mut self, thread: u32) {
        self.thread = thread;
        if let Some(&(_, index)) = self.thread_index.iter().find(|(number, _)| *number == thread) {
            self.thread_at = index as usize;
            return;
        }
        self.thread_at = self.threads.len();
        self.threads.push(ThreadGuess { last_acquire: NO_SITE, last_release: NO_SITE });
        self.thread_index.push((thread, self.thread_at as u32));
    }

    /// The site expected for an acquisition, or for a release of anything but a recent block.
    #[inline]
    fn site_after(&self, last: u32) -> u32 {
        self.sites.get(last as usize).map_or(NO_SITE, |site| site.next)
    }

    #[inline]
    fn size_class(size: u64) -> usize {
        // As glibc rounds; other allocators' classes are coarser, which costs guesses but nothing else.
        ((size + 23) / 16) as usize % SIZE_CLASSES
    }

    #[inline]
    fn guessed_address(&self, size: u64) -> Option<u64> {
        let freed = &self.freed[Self::size_class(size)];
        (freed.epoch == self.epoch && freed.top > 0).then(|| freed.addresses[(freed.top as usize - 1) % FREED_DEPTH])
    }

    #[inline]
    fn note_acquired(&mut self, site: u32, address: u64, size: u64, address_was_guessed: bool) {
        if address_was_guessed {
            self.freed[Self::size_class(size)].top -= 1;
        }
        self.last_address = address;
        self.recent.push(Recent { address, size, site });
    }

    #[inline]
    fn note_released(&mut self, recent: Recent, site: u32) {
        self.sites[recent.site as usize].release = site;
        let epoch = self.epoch;
        let freed = &mut self.freed[Self::size_class(recent.size)];
        if freed.epoch != epoch {
            freed.epoch = epoch;
            freed.top = 0;
        }
        // A ring: older addresses are overwritten, and a guess that follows is wrong, which the flag says.
        freed.addresses[freed.top as usize % FREED_DEPTH] = recent.address;
        freed.top += 1;
    }

    /// The next entry of the column of new sites.
    fn read_site(&mut self, column: &mut Bytes, last_node: &mut u32) -> Result<u32, Damage> {
        let op = Op::from_number(column.byte()?).ok_or(Damage::Value("an unknown function"))?;
        let detail = u16::try_from(column.varint()?).map_err(|_| Damage::Value("an impossible detail"))?;
        let node = i64::from(*last_node).wrapping_add(unzigzag(column.varint()?));
        *last_node = u32::try_from(node).map_err(|_| Damage::Value("an impossible stack"))?;
        self.sites.push(Site { node: *last_node, next: NO_SITE, release: NO_SITE, detail, op, size: 0 });
        Ok(self.sites.len() as u32 - 1)
    }

    /// The next entry of the column of addresses.
    fn read_address(&mut self, column: &mut Bytes) -> Result<u64, Damage> {
        let code = column.varint()?;
        let mut distance = unzigzag(code >> 1) << 4;
        if code & 1 != 0 {
            distance |= i64::from(column.byte()? & 15);
        }
        self.last_address = self.last_address.wrapping_add(distance as u64);
        Ok(self.last_address)
    }

    #[inline]
    fn note_site(&mut self, effect: Effect, site: u32) {
        let thread = &mut self.threads[self.thread_at];
        let last = if effect == Effect::Release { &mut thread.last_release } else { &mut thread.last_acquire };
        let before = std::mem::replace(last, site);
        if let Some(before) = self.sites.get_mut(before as usize) {
            before.next = site;
        }
    }
}

/// Finds the number of a site that was not guessed.
struct SiteIndex {
    slots: Box<[(u32, u32)]>, // (epoch, site)
    epoch: u32,
}

impl SiteIndex {
    const SLOTS: usize = MAX_EVENTS * 2;

    fn new() -> Self {
        SiteIndex { slots: vec![(0, 0); Self::SLOTS].into_boxed_slice(), epoch: 0 }
    }

    fn find_or_add(&mut self, sites: &mut Vec<Site>, event: &Event) -> (u32, bool) {
        let key = (event.node as u64) << 24 | (event.detail as u64) << 8 | event.op.0 as u64;
        let mut slot = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as usize;
        loop {
            slot %= Self::SLOTS;
            let (epoch, number) = self.slots[slot];
            if epoch != self.epoch {
                let fresh = sites.len() as u32;
                self.slots[slot] = (self.epoch, fresh);
                sites.push(Site {
                    node: event.node,
                    next: NO_SITE,
                    release: NO_SITE,
                    detail: event.detail,
                    op: event.op,
                    size: 0,
                });
                return (fresh, true);
            }
            let site = &sites[number as usize];
            if site.node == event.node && site.op == event.op && site.detail == event.detail {
                return (number, false);
            }
            slot += 1;
        }
    }
}

/// Collects events until there is a block full of them.
pub struct Encoder {
    guesses: Guesses,
    index: SiteIndex,
    columns: [Buffer; COLUMNS],
    compressor: zstd::bulk::Compressor<'static>,
    count: usize,
    first_time: u64,
    last_time: u64,
    first_thread: u32,
    first_block: u64,
    blocks: u64,
    last_node: u32,
}

impl Encoder {
    /// For a process image of which nothing has been written yet.
    pub fn new() -> Self {
        Encoder {
            guesses: Guesses::new(),
            index: SiteIndex::new(),
            columns: std::array::from_fn(|_| Buffer::new()),
            compressor: zstd::bulk::Compressor::new(1).expect("zstd level 1 exists"),
            count: 0,
            first_time: 0,
            last_time: 0,
            first_thread: 0,
            first_block: 0,
            blocks: 0,
            last_node: 0,
        }
    }

    /// Events that wait for [`Encoder::finish`].
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether no event waits.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether [`Encoder::finish`] must be called before the next push.
    pub fn is_full(&self) -> bool {
        self.count == MAX_EVENTS
    }

    /// When the waiting events begin and end, in time units.
    pub fn time_range(&self) -> (u64, u64) {
        (self.first_time, self.last_time)
    }

    fn begin(&mut self, event: &Event) {
        self.guesses.restart(event.thread);
        self.index.epoch += 1;
        self.first_time = event.time;
        self.last_time = event.time;
        self.first_thread = event.thread;
        self.first_block = self.blocks;
        self.last_node = 0;
    }

    /// Adds one event. Times must not decrease, block numbers must be those of the order of acquisitions.
    #[inline]
    pub fn push(&mut self, event: &Event) {
        if self.count == 0 {
            self.begin(event);
        }
        self.count += 1;
        let guesses = &mut self.guesses;
        let mut flags = 0;
        if event.thread != guesses.thread {
            flags |= OTHER_THREAD;
            self.columns[Column::Thread as usize].put_varint(event.thread as u64);
            guesses.switch_thread(event.thread);
        }
        Self::put_short(&mut self.columns, Column::Time, event.time - self.last_time);
        self.last_time = event.time;
        Self::put_short(&mut self.columns, Column::Duration, event.duration);

        let effect = event.op.effect();
        let mut recent = None;
        if effect == Effect::Release {
            flags |= RELEASE;
            let reference = match event.block {
                Block::Number(number) => {
                    if number >= self.first_block {
                        recent = guesses.recent.get((number - self.first_block) as usize).copied();
                    }
                    self.blocks - 1 - number + REF_DISTANCE
                }
                Block::Unknown => REF_UNKNOWN,
                Block::Null | Block::None => REF_NULL,
            };
            self.columns[Column::Reference as usize].put_varint(reference);
        }

        let thread = guesses.threads[guesses.thread_at];
        let guess = match (effect, recent) {
            (Effect::Release, Some(recent)) => guesses.sites[recent.site as usize].release,
            (Effect::Release, None) => guesses.site_after(thread.last_release),
            _ => guesses.site_after(thread.last_acquire),
        };
        let site = match guesses.sites.get(guess as usize) {
            Some(s) if s.node == event.node && s.op == event.op && s.detail == event.detail => {
                flags |= SITE_GUESSED;
                guess
            }
            _ => self.miss_site(event),
        };
        let guesses = &mut self.guesses;
        guesses.note_site(effect, site);

        match effect {
            Effect::Release => match (recent, event.block) {
                (Some(recent), _) => guesses.note_released(recent, site),
                (None, Block::Unknown) => Self::put_address(&mut self.columns, guesses, event.address),
                _ => {}
            },
            Effect::Acquire | Effect::Other => {
                if guesses.sites[site as usize].size == event.size {
                    flags |= SIZE_GUESSED;
                } else {
                    self.columns[Column::Size as usize].put_varint(event.size);
                }
                guesses.sites[site as usize].size = event.size;
                let guessed = guesses.guessed_address(event.size) == Some(event.address);
                if event.address == 0 {
                    flags |= NO_ADDRESS;
                } else if guessed {
                    flags |= ADDRESS_GUESSED;
                } else {
                    Self::put_address(&mut self.columns, guesses, event.address);
                }
                if effect == Effect::Acquire && event.address != 0 {
                    guesses.note_acquired(site, event.address, event.size, guessed);
                    self.blocks += 1;
                }
            }
        }
        self.columns[Column::Flags as usize].put(flags);
    }

    #[inline(always)]
    fn put_short(columns: &mut [Buffer; COLUMNS], which: Column, value: u64) {
        if value < EXCESS as u64 {
            columns[which as usize].put(value as u8);
        } else {
            columns[which as usize].put(EXCESS);
            columns[Column::Excess as usize].put_varint(value - EXCESS as u64);
        }
    }

    #[inline(never)]
    fn miss_site(&mut self, event: &Event) -> u32 {
        let (site, is_new) = self.index.find_or_add(&mut self.guesses.sites, event);
        if is_new {
            self.columns[Column::Site as usize].put(0);
            let new = &mut self.columns[Column::NewSite as usize];
            new.put(event.op.0);
            new.put_varint(event.detail as u64);
            new.put_varint(zigzag(event.node as i64 - self.last_node as i64));
            self.last_node = event.node;
        } else {
            self.columns[Column::Site as usize].put_varint(site as u64 + 1);
        }
        site
    }

    #[inline(never)]
    fn put_address(columns: &mut [Buffer; COLUMNS], guesses: &mut Guesses, address: u64) {
        let column = &mut columns[Column::Address as usize];
        let distance = address.wrapping_sub(guesses.last_address) as i64;
        let sixteenths = zigzag(distance >> 4) << 1;
        if distance & 15 == 0 {
            column.put_varint(sixteenths);
        } else {
            column.put_varint(sixteenths | 1);
            column.put((distance & 15) as u8);
        }
        guesses.last_address = address;
    }

    /// The waiting events as a payload, appended to `out`. The encoder is then empty.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        put_varint(out, self.count as u64);
        put_varint(out, self.first_time);
        put_varint(out, self.last_time - self.first_time);
        put_varint(out, self.first_block);
        put_varint(out, self.first_thread as u64);
        for column in &mut self.columns {
            let plain = &column.bytes[..column.len];
            put_varint(out, plain.len() as u64);
            let at = out.len();
            out.resize(at + 4 + zstd::zstd_safe::compress_bound(plain.len()), 0);
            let written = self.compressor.compress_to_buffer(plain, &mut out[at + 4..]);
            // With room for the bound, compression cannot fail; a column that does not shrink is stored as it is.
            let written = match written {
                Ok(bytes) if bytes < plain.len() => bytes,
                _ => {
                    out[at + 4..at + 4 + plain.len()].copy_from_slice(plain);
                    plain.len()
                }
            };
            out[at..at + 4].copy_from_slice(&(written as u32).to_le_bytes());
            out.truncate(at + 4 + written);
            column.len = 0;
        }
        self.count = 0;
    }
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new()
    }
}

/// What an events block says before its columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventsHeader {
    /// Number of events.
    pub count: usize,
    /// Time of the first event, in time units.
    pub first_time: u64,
    /// Time of the last event, in time units.
    pub last_time: u64,
    /// Number of blocks acquired before, in this process image.
    pub first_block: u64,
    first_thread: u32,
}

/// Reads the front of an events payload.
pub fn read_header(payload: &[u8]) -> Result<EventsHeader, Damage> {
    header(&mut Bytes::new(payload))
}

fn header(bytes: &mut Bytes) -> Result<EventsHeader, Damage> {
    let count = bytes.varint()? as usize;
    if count > MAX_EVENTS {
        return Err(Damage::Value("more events than a block may hold"));
    }
    let first_time = bytes.varint()?;
    let last_time = first_time.checked_add(bytes.varint()?).ok_or(Damage::Value("a time beyond all times"))?;
    Ok(EventsHeader { count, first_time, last_time, first_block: bytes.varint()?, first_thread: bytes.varint32()? })
}

#[inline(always)]
fn read_short(column: &mut Bytes, excess: &mut Bytes) -> Result<u64, Damage> {
    match column.byte()? {
        EXCESS => excess.varint()?.checked_add(EXCESS as u64).ok_or(Damage::Value("a time beyond all times")),
        short => Ok(short as u64),
    }
}

/// Turns payloads back into events.
pub struct Decoder {
    guesses: Guesses,
    columns: [Vec<u8>; COLUMNS],
    decompressor: zstd::bulk::Decompressor<'static>,
}

impl Decoder {
    /// One decoder can read any number of payloads, one after the other.
    pub fn new() -> Self {
        Decoder {
            guesses: Guesses::new(),
            columns: Default::default(),
            decompressor: zstd::bulk::Decompressor::new().expect("zstd is there"),
        }
    }

    /// Replaces the content of `events` with the events of `payload`. On an error, `events` holds those before it.
    pub fn decode(&mut self, payload: &[u8], events: &mut Vec<Event>) -> Result<EventsHeader, Damage> {
        events.clear();
        let mut bytes = Bytes::new(payload);
        let header = header(&mut bytes)?;
        for column in &mut self.columns {
            let plain = bytes.varint()? as usize;
            if plain > MAX_COLUMN_BYTES {
                return Err(Damage::Value("a column larger than any block needs"));
            }
            let mut stored = [0; 4];
            stored.copy_from_slice(bytes.take(4)?);
            let stored = bytes.take(u32::from_le_bytes(stored) as usize)?;
            column.clear();
            if stored.len() == plain {
                column.extend_from_slice(stored);
                continue;
            }
            column.reserve(plain);
            let got = self.decompressor.decompress_to_buffer(stored, column).map_err(|_| Damage::Compression)?;
            if got != plain {
                return Err(Damage::Compression);
            }
        }
        self.replay(header, events)?;
        Ok(header)
    }

    fn replay(&mut self, header: EventsHeader, events: &mut Vec<Event>) -> Result<(), Damage> {
        let guesses = &mut self.guesses;
        guesses.restart(header.first_thread);
        let column = |which: Column| Bytes::new(&self.columns[which as usize]);
        let mut flags_column = column(Column::Flags);
        let mut times = column(Column::Time);
        let mut durations = column(Column::Duration);
        let mut excess = column(Column::Excess);
        let mut site_column = column(Column::Site);
        let mut new_sites = column(Column::NewSite);
        let mut sizes = column(Column::Size);
        let mut addresses = column(Column::Address);
        let mut references = column(Column::Reference);
        let mut threads = column(Column::Thread);
        let mut time = header.first_time;
        let mut blocks = header.first_block;
        let mut last_node = 0;
        events.reserve(header.count);
        for _ in 0..header.count {
            let flags = flags_column.byte()?;
            if flags & OTHER_THREAD != 0 {
                guesses.switch_thread(threads.varint32()?);
            }
            let elapsed = read_short(&mut times, &mut excess)?;
            time = time.checked_add(elapsed).ok_or(Damage::Value("a time beyond all times"))?;
            let duration = read_short(&mut durations, &mut excess)?;
            let release = flags & RELEASE != 0;
            let mut block = Block::None;
            let mut recent = None;
            if release {
                block = match references.varint()? {
                    REF_NULL => Block::Null,
                    REF_UNKNOWN => Block::Unknown,
                    distance => {
                        let back = distance - REF_DISTANCE;
                        let number = blocks.checked_sub(back + 1).ok_or(Damage::Value("a block that never was"))?;
                        if number >= header.first_block {
                            recent = guesses.recent.get((number - header.first_block) as usize).copied();
                        }
                        Block::Number(number)
                    }
                };
            }
            let thread = guesses.threads[guesses.thread_at];
            let site = if flags & SITE_GUESSED != 0 {
                match (release, recent) {
                    (true, Some(recent)) => guesses.sites[recent.site as usize].release,
                    (true, None) => guesses.site_after(thread.last_release),
                    _ => guesses.site_after(thread.last_acquire),
                }
            } else {
                match site_column.varint32()? {
                    0 => guesses.read_site(&mut new_sites, &mut last_node)?,
                    number => number - 1,
                }
            };
            let Site { node, detail, op, size: usual_size, .. } =
                *guesses.sites.get(site as usize).ok_or(Damage::Value("a call site that never was"))?;
            let effect = op.effect();
            if (effect == Effect::Release) != release {
                return Err(Damage::Value("a release that is none"));
            }
            guesses.note_site(effect, site);

            let (mut address, mut size) = (0, 0);
            if let Some(recent) = recent {
                address = recent.address;
                guesses.note_released(recent, site);
            } else if block == Block::Unknown {
                address = guesses.read_address(&mut addresses)?;
            } else if !release {
                size = if flags & SIZE_GUESSED != 0 { usual_size } else { sizes.varint()? };
                guesses.sites[site as usize].size = size;
                let guessed = flags & ADDRESS_GUESSED != 0;
                if flags & NO_ADDRESS != 0 {
                    block = if effect == Effect::Acquire { Block::Null } else { Block::None };
                } else {
                    address = if guessed {
                        guesses.guessed_address(size).ok_or(Damage::Value("an address that cannot be guessed"))?
                    } else {
                        guesses.read_address(&mut addresses)?
                    };
                    if effect == Effect::Acquire {
                        guesses.note_acquired(site, address, size, guessed);
                        block = Block::Number(blocks);
                        blocks += 1;
                    }
                }
            }
            events.push(Event { time, duration, size, address, block, node, thread: guesses.thread, detail, op });
        }
        Ok(())
    }
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}
