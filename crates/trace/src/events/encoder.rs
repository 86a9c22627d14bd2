//! Writes events blocks.

use super::column::Column;
use super::columns::Columns;
use super::guesses::{Guesses, site_key};
use super::site_index::SiteIndex;
use super::{MAX_EVENTS, flag, reference};
use crate::bytes::{put_varint, zigzag};
use crate::event::{Block, Event};
use crate::ids::{Address, BlockNo, NodeId, ThreadNo, Units};
use crate::op::Effect;

/// Collects events until there is a block full of them.
pub struct Encoder {
    guesses: Guesses,
    index: SiteIndex,
    columns: Columns,
    first_time: Units,
    last_time: Units,
    first_thread: ThreadNo,
    first_block: u64,
    blocks: u64,
    last_node: Option<NodeId>,
    last_address: Address,
}

impl Encoder {
    /// For a process image of which nothing has been written yet.
    pub fn new() -> Self {
        Encoder {
            guesses: Guesses::new(),
            index: SiteIndex::new(),
            columns: Columns::new(),
            first_time: Units::ZERO,
            last_time: Units::ZERO,
            first_thread: ThreadNo::FIRST,
            first_block: 0,
            blocks: 0,
            last_node: None,
            last_address: Address::NULL,
        }
    }

    /// Goes on with a process image of which nothing has been written yet. It writes what a new encoder would, but has its
    /// memory already: about a megabyte. No event may wait.
    pub fn begin_image(&mut self) {
        debug_assert!(self.is_empty());
        self.columns.begin_image();
        self.blocks = 0;
    }

    /// Events that wait for [`Encoder::finish`].
    pub fn len(&self) -> usize {
        self.columns.events()
    }

    /// Whether no event waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether [`Encoder::finish`] must be called before the next push.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len() >= MAX_EVENTS
    }

    #[cold]
    fn begin(&mut self, event: &Event) {
        self.guesses.restart(event.thread);
        self.index.restart();
        self.first_time = event.time;
        self.last_time = event.time;
        self.first_thread = event.thread;
        self.first_block = self.blocks;
        self.last_node = None;
        self.last_address = Address::NULL;
    }

    /// Adds one event. Times must not decrease, block numbers must be those of the order of acquisitions, and the encoder
    /// must not be full: what is wrong would be written wrong.
    #[inline]
    pub fn push(&mut self, event: &Event) {
        self.push_with(event, event.op.effect());
    }

    /// [`Encoder::push`] for one who knows already what the event does to memory.
    #[inline(always)]
    pub fn push_with(&mut self, event: &Event, effect: Effect) {
        debug_assert!(!self.is_full() && (self.is_empty() || event.time >= self.last_time));
        debug_assert!(effect == event.op.effect());
        if self.is_empty() {
            self.begin(event);
        }
        let mut flags = 0;
        if event.thread != self.guesses.thread {
            flags = flag::OTHER_THREAD;
            put_varint(self.columns.integers(Column::Thread), u64::from(event.thread.get()));
            self.guesses.switch_thread(event.thread);
        }
        self.columns.put_short(Column::Time, (event.time - self.last_time).0);
        self.last_time = event.time;
        self.columns.put_short(Column::Duration, event.duration.0);
        flags |= match effect {
            Effect::Release | Effect::Lend => self.release(event, effect),
            Effect::Acquire | Effect::Other => self.acquire(event, effect),
        };
        self.columns.put_flags(flags);
    }

    #[inline(always)]
    fn release(&mut self, event: &Event, effect: Effect) -> u8 {
        let mut recent = None;
        let refers_to = match event.block {
            Block::Number(BlockNo(number)) => {
                recent = self.guesses.recent(number.wrapping_sub(self.first_block));
                self.blocks.wrapping_sub(number + 1) + reference::DISTANCE
            }
            Block::Unknown => reference::UNKNOWN,
            Block::Null | Block::None => reference::NULL,
        };
        put_varint(self.columns.integers(Column::Reference), refers_to);
        let (site, flags) = self.site(event, self.guesses.releasing_site(recent));
        match recent {
            // A block that lends is still there: its address does not come again.
            Some(recent) if effect == Effect::Release => self.guesses.note_released(recent, event.address, site),
            _ => {
                self.guesses.note_released_other(site);
                if event.block == Block::Unknown {
                    self.put_address(event.address);
                }
            }
        }
        flags | flag::RELEASE
    }

    #[inline(always)]
    fn acquire(&mut self, event: &Event, effect: Effect) -> u8 {
        let (site, mut flags) = self.site(event, self.guesses.acquiring_site());
        self.guesses.note_acquiring_site(site);
        let last_size = &mut self.guesses.sites[site as usize].size;
        if *last_size == event.size {
            flags |= flag::SIZE_GUESSED;
        } else {
            *last_size = event.size;
            put_varint(self.columns.integers(Column::Size), event.size.0);
        }
        if event.address.is_null() {
            return flags | flag::NO_ADDRESS;
        }
        let guessed = self.guesses.address(event.size) == Some(event.address);
        if guessed {
            flags |= flag::ADDRESS_GUESSED;
        } else {
            self.put_address(event.address);
        }
        if effect == Effect::Acquire {
            self.guesses.note_acquired(site, event.size, guessed);
            self.last_address = event.address;
            self.blocks += 1;
        }
        flags
    }

    /// The number of the event's site, and whether it was guessed.
    #[inline(always)]
    fn site(&mut self, event: &Event, guess: u32) -> (u32, u8) {
        let key = site_key(event.node, event.detail, event.op);
        match self.guesses.sites.get(guess as usize) {
            Some(site) if site.key == key => (guess, flag::SITE_GUESSED),
            _ => (self.find_site(event, key), 0),
        }
    }

    #[inline(always)]
    fn find_site(&mut self, event: &Event, key: u64) -> u32 {
        let known = self.guesses.sites.len();
        let site = self.index.find_or_add(&mut self.guesses.sites, key);
        self.columns.put_site(site);
        if site as usize == known {
            self.put_new_site(event);
        }
        site
    }

    #[cold]
    fn put_new_site(&mut self, event: &Event) {
        let column = self.columns.integers(Column::NewSite);
        column.push(event.op.0);
        put_varint(column, u64::from(event.detail));
        let [node, before] = [event.node, self.last_node].map(|node| i64::from(NodeId::or_zero(node)));
        put_varint(column, zigzag(node - before));
        self.last_node = event.node;
    }

    /// The distance from the last address, in units of 16 bytes; bit 0 says that a byte with the rest follows.
    #[inline(never)]
    fn put_address(&mut self, address: Address) {
        let column = self.columns.integers(Column::Address);
        let distance = address.0.wrapping_sub(self.last_address.0) as i64;
        let sixteenths = zigzag(distance >> 4) << 1;
        if distance & 15 == 0 {
            put_varint(column, sixteenths);
        } else {
            put_varint(column, sixteenths | 1);
            column.push((distance & 15) as u8);
        }
        self.last_address = address;
    }

    /// The waiting events as a payload, appended to `out`. The encoder is then empty.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        put_varint(out, self.len() as u64);
        put_varint(out, self.first_time.0);
        put_varint(out, (self.last_time - self.first_time).0);
        put_varint(out, self.first_block);
        put_varint(out, u64::from(self.first_thread.get()));
        self.columns.pack(out);
    }
}

impl Default for Encoder {
    fn default() -> Self {
        Self::new()
    }
}
