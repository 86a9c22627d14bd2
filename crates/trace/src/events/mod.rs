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
//! (`guesses`), so they cannot disagree.

mod column;
mod columns;
mod decoder;
mod encoder;
mod guesses;
mod packer;
mod site_index;

pub use decoder::Decoder;
pub use encoder::Encoder;

use crate::Damage;
use crate::bytes::Unread;
use crate::ids::{BlockNo, ThreadNo, Units};

/// Events in a block at the most.
pub const MAX_EVENTS: usize = 1 << 16;

/// Times and durations are one byte an event. This one says that the rest of the value stands in the column of excess.
const EXCESS: u8 = 255;

/// The bits of an event's flag byte.
mod flag {
    pub const SITE_GUESSED: u8 = 1;
    /// The size is that of the site's last event.
    pub const SIZE_GUESSED: u8 = 2;
    pub const ADDRESS_GUESSED: u8 = 4;
    /// Another thread than the event before; its number stands in the column of threads.
    pub const OTHER_THREAD: u8 = 8;
    /// The address is 0: the acquisition failed.
    pub const NO_ADDRESS: u8 = 16;
    /// A block is given back; which, stands in the column of references.
    pub const RELEASE: u8 = 32;
}

/// What a release refers to: 0, 1, or 2 + the number of acquisitions since its block's.
mod reference {
    pub const NULL: u64 = 0;
    pub const UNKNOWN: u64 = 1;
    pub const DISTANCE: u64 = 2;
}

/// What an events block says before its columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventsHeader {
    /// Number of events.
    pub count: usize,
    pub first_time: Units,
    pub last_time: Units,
    /// Number of blocks acquired before, in this process image: the number of the next one.
    pub first_block: BlockNo,
    first_thread: ThreadNo,
}

/// No front of an events payload is longer: five variable-length integers.
pub(crate) const MAX_HEADER_BYTES: usize = 50;

/// Reads the front of an events payload.
pub fn read_header(payload: &[u8]) -> Result<EventsHeader, Damage> {
    header(&mut Unread::new(payload))
}

fn header(bytes: &mut Unread) -> Result<EventsHeader, Damage> {
    let count = bytes.varint()? as usize;
    if count > MAX_EVENTS {
        return Err(Damage::Value("more events than a block may hold"));
    }
    let first_time = bytes.varint()?;
    let last_time = first_time.checked_add(bytes.varint()?).ok_or(Damage::Value("a time beyond all times"))?;
    let first_block = bytes.varint()?;
    if first_block > u64::MAX - MAX_EVENTS as u64 {
        return Err(Damage::Value("a block number beyond all numbers"));
    }
    let (first_time, last_time, first_block) = (Units(first_time), Units(last_time), BlockNo(first_block));
    Ok(EventsHeader { count, first_time, last_time, first_block, first_thread: thread(bytes)? })
}

/// Numbers of threads are smaller: a process begins with 1 and counts on. Readers have tables of them.
pub const MAX_THREADS: u32 = 1 << 24;

fn thread(bytes: &mut Unread) -> Result<ThreadNo, Damage> {
    let thread = bytes.varint32()?;
    if thread < MAX_THREADS { ThreadNo::somebody(thread) } else { Err(Damage::Value("a thread beyond all numbers")) }
}
