//! The payload of a timeline block: what happened when in an image, since the image's last such block. Time is cut into
//! cells; a cell is the time divided by their width, a power of two, so that cells of one block lie in those of another one
//! whose cells are wider.
//!
//! zstd over variable-length integers, one column for each field.

use crate::Damage;
use crate::bytes::{Unread, put_varint, unzigzag, zigzag};
use crate::ids::ThreadNo;

/// Live bytes in a cell in which they changed.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct LiveCell {
    pub cell: u64,
    /// Lowest number of live bytes after a change in the cell.
    pub lowest: u64,
    pub highest: u64,
    pub last: u64,
}

impl LiveCell {
    /// Goes on with what happened later in the same cell.
    pub fn add(&mut self, later: &LiveCell) {
        self.lowest = self.lowest.min(later.lowest);
        self.highest = self.highest.max(later.highest);
        self.last = later.last;
    }
}

/// What a thread did in a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThreadCell {
    pub cell: u64,
    pub thread: ThreadNo,
    /// Blocks that it acquired, by reallocation or not.
    pub allocations: u64,
    pub bytes: u64,
    /// Calls that began in the cell and took a time that is known.
    pub calls: u64,
    /// Time inside calls in this cell, units.
    pub time: u64,
}

impl ThreadCell {
    /// Of a thread that did nothing.
    pub fn new(cell: u64, thread: ThreadNo) -> ThreadCell {
        ThreadCell { cell, thread, allocations: 0, bytes: 0, calls: 0, time: 0 }
    }

    /// Adds what the same thread did in the same cell.
    pub fn add(&mut self, other: &ThreadCell) {
        self.allocations = self.allocations.wrapping_add(other.allocations);
        self.bytes = self.bytes.wrapping_add(other.bytes);
        self.calls = self.calls.wrapping_add(other.calls);
        self.time = self.time.wrapping_add(other.time);
    }

    /// Sorts cells, and joins what the same thread did in the same cell.
    pub fn settle(cells: &mut Vec<ThreadCell>) {
        cells.sort_unstable_by_key(|cell| (cell.cell, cell.thread));
        cells.dedup_by(|next, kept| {
            let is_same = (next.cell, next.thread) == (kept.cell, kept.thread);
            if is_same {
                kept.add(next);
            }
            is_same
        });
    }
}

/// What happened when.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Timeline {
    /// The binary logarithm of the width of a cell, units.
    pub width_log2: u32,
    /// Bytes live before.
    pub live_before: u64,
    pub live: Vec<LiveCell>,
    /// By cell and thread. A call can have begun before the block's first event, and ended after its last one.
    pub threads: Vec<ThreadCell>,
}

impl Timeline {
    /// Makes cells wider; it is no mistake if they are already.
    pub fn widen(&mut self, width_log2: u32) {
        let Some(steps @ 1..) = width_log2.checked_sub(self.width_log2) else { return };
        self.width_log2 = width_log2;
        self.live.iter_mut().for_each(|cell| cell.cell >>= steps);
        self.live.dedup_by(|next, kept| {
            let is_same = next.cell == kept.cell;
            if is_same {
                kept.add(next);
            }
            is_same
        });
        self.threads.iter_mut().for_each(|cell| cell.cell >>= steps);
        ThreadCell::settle(&mut self.threads);
    }

    /// The first time and the last one that it is about, units. `None` if nothing happened.
    pub fn extent(&self) -> Option<(u64, u64)> {
        let cells = self.live.iter().map(|cell| cell.cell).chain(self.threads.iter().map(|cell| cell.cell));
        let (first, last) = (cells.clone().min()?, cells.max()?);
        let within = (1 << self.width_log2) - 1;
        Some((first << self.width_log2, last << self.width_log2 | within))
    }
}

/// No width is larger.
const MAX_WIDTH_LOG2: u32 = 60;
/// No block is as long, unpacked. Bytes.
const MAX_BYTES: usize = 1 << 30;

fn put_signed(out: &mut Vec<u8>, value: u64, before: u64) {
    put_varint(out, zigzag(value.wrapping_sub(before) as i64));
}

fn signed(bytes: &mut Unread, before: u64) -> Result<u64, Damage> {
    Ok(before.wrapping_add(unzigzag(bytes.varint()?) as u64))
}

/// Packs a timeline whose threads are settled.
pub fn encode(timeline: &Timeline) -> Vec<u8> {
    let Timeline { width_log2, live_before, live, threads } = timeline;
    let mut plain = Vec::with_capacity(live.len() * 8 + threads.len() * 8);
    let out = &mut plain;
    for value in [u64::from(*width_log2), *live_before, live.len() as u64, threads.len() as u64] {
        put_varint(out, value);
    }
    let mut before = 0;
    for cell in live {
        put_signed(out, cell.cell, before);
        before = cell.cell;
    }
    before = *live_before;
    for cell in live {
        put_signed(out, cell.last, before);
        before = cell.last;
    }
    live.iter().for_each(|cell| put_varint(out, cell.highest.wrapping_sub(cell.last)));
    live.iter().for_each(|cell| put_varint(out, cell.last.wrapping_sub(cell.lowest)));
    before = 0;
    for cell in threads {
        put_signed(out, cell.cell, before);
        before = cell.cell;
    }
    threads.iter().for_each(|cell| put_varint(out, u64::from(cell.thread.get())));
    let fields: [fn(&ThreadCell) -> u64; 4] =
        [|cell| cell.allocations, |cell| cell.bytes, |cell| cell.calls, |cell| cell.time];
    for field in fields {
        threads.iter().for_each(|cell| put_varint(out, field(cell)));
    }
    crate::compress(&plain)
}

/// Unpacks a timeline.
pub fn decode(payload: &[u8]) -> Result<Timeline, Damage> {
    let plain = crate::decompress(payload, MAX_BYTES)?;
    let mut bytes = Unread::new(&plain);
    let bytes = &mut bytes;
    let width_log2 = bytes.varint32()?;
    if width_log2 > MAX_WIDTH_LOG2 {
        return Err(Damage::Value("a timeline with cells that are too wide"));
    }
    let live_before = bytes.varint()?;
    let (live, threads) = (bytes.varint()? as usize, bytes.varint()? as usize);
    if live > bytes.remaining() || threads > bytes.remaining() {
        return Err(Damage::Short);
    }
    let mut live = vec![LiveCell::default(); live];
    let mut threads = vec![ThreadCell::new(0, ThreadNo::FIRST); threads]; // each gets its own
    let last_cell = u64::MAX >> width_log2;
    let cell = |bytes: &mut Unread, before: u64| match signed(bytes, before)? {
        cell if cell <= last_cell => Ok(cell),
        _ => Err(Damage::Value("a time beyond all times")),
    };
    let mut before = 0;
    for place in &mut live {
        place.cell = cell(bytes, before)?;
        before = place.cell;
    }
    before = live_before;
    for place in &mut live {
        place.last = signed(bytes, before)?;
        before = place.last;
    }
    for place in &mut live {
        place.highest = place.last.wrapping_add(bytes.varint()?);
    }
    for place in &mut live {
        place.lowest = place.last.wrapping_sub(bytes.varint()?);
    }
    before = 0;
    for place in &mut threads {
        place.cell = cell(bytes, before)?;
        before = place.cell;
    }
    for place in &mut threads {
        place.thread = ThreadNo::somebody(bytes.varint32()?)?;
    }
    let fields: [fn(&mut ThreadCell) -> &mut u64; 4] =
        [|cell| &mut cell.allocations, |cell| &mut cell.bytes, |cell| &mut cell.calls, |cell| &mut cell.time];
    for field in fields {
        for place in &mut threads {
            *field(place) = bytes.varint()?;
        }
    }
    Ok(Timeline { width_log2, live_before, live, threads })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_timeline() -> impl Strategy<Value = Timeline> {
        let live = (0u64..1 << 40, any::<u64>(), any::<u64>(), any::<u64>())
            .prop_map(|(cell, lowest, highest, last)| LiveCell { cell, lowest, highest, last });
        let thread = (0u64..1000, 1u32..5, any::<[u64; 4]>()).prop_map(|(cell, thread, numbers)| {
            let thread = ThreadNo::new(thread).unwrap();
            let [allocations, bytes, calls, time] = numbers;
            ThreadCell { cell, thread, allocations, bytes, calls, time }
        });
        let cells = (proptest::collection::vec(live, 0..20), proptest::collection::vec(thread, 0..50));
        (0u32..20, any::<u64>(), cells).prop_map(|(width_log2, live_before, (mut live, mut threads))| {
            live.sort_by_key(|cell| cell.cell);
            ThreadCell::settle(&mut threads);
            Timeline { width_log2, live_before, live, threads }
        })
    }

    proptest! {
        #[test]
        fn timelines_come_back(timeline in any_timeline()) {
            prop_assert_eq!(decode(&encode(&timeline)).unwrap(), timeline);
        }

        #[test]
        fn wider_cells_say_the_same_in_all(mut timeline in any_timeline()) {
            let sum = |timeline: &Timeline| timeline.threads.iter().fold(0u64, |sum, cell| sum.wrapping_add(cell.bytes));
            let last = |timeline: &Timeline| timeline.live.last().map(|cell| cell.last);
            let before = (sum(&timeline), last(&timeline));
            let mut at_once = timeline.clone();
            at_once.widen(timeline.width_log2 + 3);
            for width_log2 in timeline.width_log2..=timeline.width_log2 + 3 {
                timeline.widen(width_log2);
                prop_assert_eq!((sum(&timeline), last(&timeline)), before);
            }
            prop_assert_eq!(timeline, at_once);
        }

        #[test]
        fn damage_is_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = decode(&bytes);
            let _ = decode(&crate::compress(&bytes));
        }
    }
}
