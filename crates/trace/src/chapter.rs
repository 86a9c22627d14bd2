//! The payload of a chapter block: what some consecutive events blocks of an image add up to, and what must be known of
//! the blocks before them to read them alone.
//!
//! ```text
//! sums of chapters before  ->  live bytes of each site when this chapter begins
//! carried, calling, mapped ->  what else events of this chapter refer to
//! counts, highest          ->  what this chapter adds, without reading its events
//! ```
//!
//! zstd over variable-length integers, one column for each field.

use crate::Damage;
use crate::bytes::{Unread, put_varint, unzigzag, zigzag};
use crate::ids::{BlockNo, Bytes, NodeId, ThreadNo, Units};
use crate::metrics::OF_CHAPTER;
use crate::packed_sites::{PackedSites, Packing};
use crate::summary::{LiveCurve, PeakWithMappings};

/// A block of memory that was live when the chapter began and is released in it. `Of` is what says who acquired it: while a
/// chapter is written, that is something else than a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Carried<Of = Option<NodeId>> {
    /// Its number.
    pub number: BlockNo,
    /// What was asked for.
    pub size: Bytes,
    /// When it was acquired.
    pub time: Units,
    /// The stack that acquired it.
    pub node: Of,
    /// The thread that acquired it.
    pub thread: ThreadNo,
    /// Whether that thread had acquired nothing else when it was released.
    pub is_last: bool,
    /// How often it had grown, see [`crate::pattern::Growth`].
    pub steps: u16,
}

impl<Of> Carried<Of> {
    /// The same block, of which something else says who acquired it.
    pub fn of<Other>(block: Carried<Other>, node: Of) -> Carried<Of> {
        let Carried { number, size, time, thread, is_last, steps, .. } = block;
        Carried { number, size, time, node, thread, is_last, steps }
    }
}

/// A thread that is inside a reallocation when a chapter begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reallocating {
    pub thread: ThreadNo,
    /// What it has given back, if that is known.
    pub given_back: Option<GivenBack>,
}

/// A block that is reallocated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GivenBack {
    /// The stack that acquired it.
    pub node: Option<NodeId>,
    pub size: Bytes,
    /// How often it had grown.
    pub steps: u16,
}

/// A block that was the last that its thread acquired when the chapter began, and is found in it to have taken another
/// one's place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Replacement {
    pub thread: ThreadNo,
    /// The block's number.
    pub number: BlockNo,
    /// The stack that acquired it.
    pub node: Option<NodeId>,
    pub size: Bytes,
}

/// The program's own mappings when a chapter begins.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Mapped {
    /// Memory that it uses.
    pub touched: Extents,
    /// Memory that it can use and has not touched.
    pub untouched: Extents,
    /// Memory that it used and has closed.
    pub closed: Extents,
    /// Address space that it can not use and has not touched.
    pub reserved: Extents,
}

impl Mapped {
    /// Bytes that count as memory in use.
    pub fn touched_bytes(&self) -> Bytes {
        self.touched.bytes()
    }

    /// Bytes that are only reserved.
    pub fn reserved_bytes(&self) -> Bytes {
        let Mapped { untouched, closed, reserved, .. } = self;
        let sum = |sum: u64, extents: &&Extents| sum.wrapping_add(extents.bytes().0);
        Bytes([untouched, closed, reserved].iter().fold(0, sum))
    }
}

/// Mappings of one kind. They do not overlap.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Extents {
    /// First address and length, by address.
    pub ranges: Vec<(u64, u64)>,
    /// Threads that are inside mremap of some of them, and what they move: first byte and length, from where it begins.
    pub moving: Vec<(ThreadNo, Vec<(u64, u64)>)>,
}

impl Extents {
    fn bytes(&self) -> Bytes {
        Bytes(self.ranges.iter().fold(0, |sum: u64, (_, length)| sum.wrapping_add(*length)))
    }
}

/// The live curve of an image at the end of a chapter, as far as it differs from the one before.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct CurvePart {
    /// Start of the first interval of the whole curve, units.
    pub start: u64,
    /// Length of an interval, units.
    pub width: u64,
    /// Intervals before these; earlier chapters say what is in them.
    pub known: u64,
    /// Highest number of live bytes in each interval from there on.
    pub highest: Vec<u64>,
}

#[derive(Clone, Default, PartialEq, Debug)]
pub struct Chapter {
    /// Bytes live when it begins.
    pub live_bytes: Bytes,
    /// The highest number of bytes live in it, its begin included.
    pub highest: Bytes,
    /// When that was, if it was after the begin.
    pub highest_time: Units,
    /// The highest sum of these and the program's own mappings.
    pub with_mappings: PeakWithMappings,
    /// The live curve.
    pub curve: CurvePart,
    /// Threads that are inside a reallocation when it begins.
    pub reallocating: Vec<Reallocating>,
    /// Blocks from before that took another one's place in it.
    pub replacements: Vec<Replacement>,
    /// The program's own mappings then, if it has made some.
    pub mapped: Option<Mapped>,
    /// What is added to the sums of each call site in it. Live bytes and blocks may shrink: they wrap around. Costs,
    /// peaks and cut-off stacks are not here.
    pub sites: PackedSites,
    /// Blocks from before, by number.
    pub carried: Vec<Carried>,
}

/// A number of each of [`OF_CHAPTER`].
pub type Counts = [u64; OF_CHAPTER.len()];

/// No chapter is as long, unpacked. Bytes.
const MAX_BYTES: usize = 1 << 30;

fn put_signed(out: &mut Vec<u8>, value: u64, before: &mut u64) {
    put_varint(out, zigzag(value.wrapping_sub(*before) as i64));
    *before = value;
}

fn signed(bytes: &mut Unread, before: &mut u64) -> Result<u64, Damage> {
    *before = before.wrapping_add(unzigzag(bytes.varint()?) as u64);
    Ok(*before)
}

fn signed_node(bytes: &mut Unread, before: &mut u64) -> Result<Option<NodeId>, Damage> {
    let number = u32::try_from(signed(bytes, before)?);
    number.map(NodeId::new).map_err(|_| Damage::Value("an integer of more than 32 bits"))
}

fn node(bytes: &mut Unread) -> Result<Option<NodeId>, Damage> {
    bytes.varint32().map(NodeId::new)
}

fn number_of(node: Option<NodeId>) -> u64 {
    NodeId::or_zero(node).into()
}

/// How many elements follow, of which each takes a byte at least.
fn count(bytes: &mut Unread) -> Result<usize, Damage> {
    let count = bytes.varint()? as usize;
    if count > bytes.remaining() { Err(Damage::Short) } else { Ok(count) }
}

/// What is added to the sums of call sites, packed one by one.
pub type Sites = Packing<{ OF_CHAPTER.len() }>;

/// Packs a chapter with the sums of these call sites instead of its own.
pub fn encode(chapter: &Chapter, sites: &Sites) -> Vec<u8> {
    let mut plain = Vec::with_capacity(sites.len() * 24 + chapter.carried.len() * 10);
    let out = &mut plain;
    let with = &chapter.with_mappings;
    for value in [chapter.live_bytes.0, chapter.highest.0, chapter.highest_time.0] {
        put_varint(out, value);
    }
    for value in [with.block_bytes, with.mapped_bytes, with.reserved_bytes, with.time] {
        put_varint(out, value);
    }
    let curve = &chapter.curve;
    for value in [curve.start, curve.width, curve.known, curve.highest.len() as u64] {
        put_varint(out, value);
    }
    let mut before = 0;
    curve.highest.iter().for_each(|value| put_signed(out, *value, &mut before));
    put_reallocating(out, &chapter.reallocating);
    put_replacements(out, &chapter.replacements);
    put_varint(out, u64::from(chapter.mapped.is_some()));
    if let Some(mapped) = &chapter.mapped {
        let Mapped { touched, untouched, closed, reserved } = mapped;
        [touched, untouched, closed, reserved].into_iter().for_each(|extents| put_extents(out, extents));
    }
    sites.put(out);
    put_carried(out, &chapter.carried);
    crate::compress(&plain)
}

fn put_reallocating(out: &mut Vec<u8>, all: &[Reallocating]) {
    put_varint(out, all.len() as u64);
    for Reallocating { thread, given_back } in all {
        put_varint(out, u64::from(thread.get()) << 1 | u64::from(given_back.is_some()));
        if let Some(GivenBack { node, size, steps }) = given_back {
            [number_of(*node), size.0, u64::from(*steps)].into_iter().for_each(|value| put_varint(out, value));
        }
    }
}

fn reallocating(bytes: &mut Unread) -> Result<Vec<Reallocating>, Damage> {
    let one = |bytes: &mut Unread| {
        let code = bytes.varint()?;
        let thread = thread_number(code >> 1)?;
        let given_back = match code & 1 {
            0 => None,
            _ => Some(GivenBack { node: node(bytes)?, size: Bytes(bytes.varint()?), steps: steps(bytes)? }),
        };
        Ok(Reallocating { thread, given_back })
    };
    (0..count(bytes)?).map(|_| one(bytes)).collect()
}

fn put_replacements(out: &mut Vec<u8>, all: &[Replacement]) {
    put_varint(out, all.len() as u64);
    for Replacement { thread, number, node, size } in all {
        [u64::from(thread.get()), number.0, number_of(*node), size.0]
            .into_iter()
            .for_each(|value| put_varint(out, value));
    }
}

fn replacements(bytes: &mut Unread) -> Result<Vec<Replacement>, Damage> {
    let one = |bytes: &mut Unread| {
        let (thread, number) = (thread_number(bytes.varint()?)?, BlockNo(bytes.varint()?));
        Ok(Replacement { thread, number, node: node(bytes)?, size: Bytes(bytes.varint()?) })
    };
    (0..count(bytes)?).map(|_| one(bytes)).collect()
}

fn steps(bytes: &mut Unread) -> Result<u16, Damage> {
    u16::try_from(bytes.varint()?).map_err(|_| Damage::Value("a block that grew too often"))
}

fn thread_number(value: u64) -> Result<ThreadNo, Damage> {
    ThreadNo::somebody(u32::try_from(value).map_err(|_| Damage::Value("a thread beyond all numbers"))?)
}

fn put_ranges(out: &mut Vec<u8>, ranges: &[(u64, u64)]) {
    put_varint(out, ranges.len() as u64);
    let mut before = 0;
    for (start, length) in ranges {
        put_signed(out, *start, &mut before);
        put_varint(out, *length);
    }
}

fn ranges(bytes: &mut Unread) -> Result<Vec<(u64, u64)>, Damage> {
    let mut before = 0;
    (0..count(bytes)?).map(|_| Ok((signed(bytes, &mut before)?, bytes.varint()?))).collect()
}

fn put_extents(out: &mut Vec<u8>, extents: &Extents) {
    put_ranges(out, &extents.ranges);
    put_varint(out, extents.moving.len() as u64);
    for (thread, ranges) in &extents.moving {
        put_varint(out, u64::from(thread.get()));
        put_ranges(out, ranges);
    }
}

fn extents(bytes: &mut Unread) -> Result<Extents, Damage> {
    let ranges_now = ranges(bytes)?;
    let moving = (0..count(bytes)?).map(|_| Ok((thread_number(bytes.varint()?)?, ranges(bytes)?)));
    Ok(Extents { ranges: ranges_now, moving: moving.collect::<Result<_, Damage>>()? })
}

fn put_carried(out: &mut Vec<u8>, carried: &[Carried]) {
    put_varint(out, carried.len() as u64);
    let column = |out: &mut Vec<u8>, field: fn(&Carried) -> u64| {
        let mut before = 0;
        carried.iter().for_each(|block| put_signed(out, field(block), &mut before));
    };
    column(out, |block| block.number.0);
    column(out, |block| block.time.0);
    column(out, |block| number_of(block.node));
    carried.iter().for_each(|block| put_varint(out, block.size.0));
    carried.iter().for_each(|block| put_varint(out, u64::from(block.thread.get()) << 1 | u64::from(block.is_last)));
    carried.iter().for_each(|block| put_varint(out, u64::from(block.steps)));
}

/// What is wanted of a chapter, beside its beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    All,
    /// The sums of sites: for who does not read its events.
    Sites,
    /// The blocks from before it: for who reads its events.
    Carried,
    /// Neither.
    Outline,
}

/// Unpacks a chapter. What is not wanted is left empty.
pub fn decode(payload: &[u8], wanted: Wanted) -> Result<Chapter, Damage> {
    let plain = crate::decompress(payload, MAX_BYTES)?;
    let mut bytes = Unread::new(&plain);
    let mut chapter = beginning(&mut bytes)?;
    if wanted == Wanted::Outline {
        return Ok(chapter);
    }
    let sites = match wanted {
        Wanted::Carried => PackedSites::skip(&mut bytes).map(|()| None)?,
        _ => Some(PackedSites::read(&mut bytes, &plain)?),
    };
    if wanted != Wanted::Sites {
        chapter.carried = carried(&mut bytes)?;
    }
    chapter.sites = sites.map_or_else(PackedSites::default, |sites| sites.keeping(plain));
    Ok(chapter)
}

/// All that stands before the sums of sites.
fn beginning(bytes: &mut Unread) -> Result<Chapter, Damage> {
    let mut chapter = Chapter {
        live_bytes: Bytes(bytes.varint()?),
        highest: Bytes(bytes.varint()?),
        highest_time: Units(bytes.varint()?),
        with_mappings: PeakWithMappings {
            block_bytes: bytes.varint()?,
            mapped_bytes: bytes.varint()?,
            reserved_bytes: bytes.varint()?,
            time: bytes.varint()?,
        },
        curve: CurvePart {
            start: bytes.varint()?,
            width: bytes.varint()?,
            known: bytes.varint()?,
            highest: Vec::new(),
        },
        ..Chapter::default()
    };
    let mut before = 0;
    chapter.curve.highest = (0..count(bytes)?).map(|_| signed(bytes, &mut before)).collect::<Result<_, _>>()?;
    chapter.reallocating = reallocating(bytes)?;
    chapter.replacements = replacements(bytes)?;
    if bytes.varint()? != 0 {
        chapter.mapped = Some(Mapped {
            touched: extents(bytes)?,
            untouched: extents(bytes)?,
            closed: extents(bytes)?,
            reserved: extents(bytes)?,
        });
    }
    Ok(chapter)
}

fn carried(bytes: &mut Unread) -> Result<Vec<Carried>, Damage> {
    let first = ThreadNo::FIRST; // each gets its own
    let (number, size, time) = (BlockNo(0), Bytes::ZERO, Units::ZERO);
    let empty = Carried { number, size, time, node: None, thread: first, is_last: false, steps: 0 };
    let mut carried = vec![empty; count(bytes)?];
    let mut before = 0;
    for block in &mut carried {
        block.number = BlockNo(signed(bytes, &mut before)?);
    }
    before = 0;
    for block in &mut carried {
        block.time = Units(signed(bytes, &mut before)?);
    }
    before = 0;
    for block in &mut carried {
        block.node = signed_node(bytes, &mut before)?;
    }
    for block in &mut carried {
        block.size = Bytes(bytes.varint()?);
    }
    for block in &mut carried {
        let code = bytes.varint()?;
        block.thread = thread_number(code >> 1)?;
        block.is_last = code & 1 != 0;
    }
    for block in &mut carried {
        block.steps = steps(bytes)?;
    }
    Ok(carried)
}

impl CurvePart {
    /// What a curve has more than it had before.
    pub fn between(before: &LiveCurve, now: &LiveCurve) -> CurvePart {
        // The last interval goes on; the others do not change any more, but they may have been joined since.
        let finished = before.highest.len().saturating_sub(1) as u64;
        let known = finished / (now.width / before.width.max(1)).max(1);
        let highest = now.highest.get(known as usize..).unwrap_or_default().to_vec();
        CurvePart { start: now.start, width: now.width, known, highest }
    }

    /// Goes on with the curve at the end of the chapter before.
    pub fn extend(&self, curve: &mut LiveCurve) {
        if curve.highest.is_empty() {
            (curve.start, curve.width) = (self.start, self.width);
        }
        while curve.width < self.width && curve.width > 0 {
            curve.join_pairs();
        }
        curve.highest.truncate(usize::try_from(self.known).unwrap_or(usize::MAX));
        curve.highest.extend_from_slice(&self.highest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{COUNTS, Metrics};
    use proptest::prelude::*;

    fn thread(number: u32) -> ThreadNo {
        ThreadNo::new(number).unwrap()
    }

    #[test]
    fn chapters_come_back() {
        let mut chapter = Chapter {
            live_bytes: Bytes(5),
            highest: Bytes(9),
            highest_time: Units(77),
            with_mappings: PeakWithMappings { block_bytes: 8, mapped_bytes: 4096, reserved_bytes: 77, time: 78 },
            curve: CurvePart { start: 1, width: 1024, known: 3, highest: vec![9, 2, 1 << 50] },
            reallocating: vec![
                Reallocating { thread: thread(7), given_back: None },
                Reallocating {
                    thread: thread(3),
                    given_back: Some(GivenBack { node: NodeId::new(8), size: Bytes(100), steps: 2 }),
                },
            ],
            replacements: vec![Replacement {
                thread: thread(3),
                number: BlockNo(1 << 40),
                node: NodeId::new(9),
                size: Bytes(16),
            }],
            mapped: Some(Mapped {
                touched: Extents {
                    ranges: vec![(0x7000, 0x1000), (0x9000, 1)],
                    moving: vec![(thread(2), vec![(0, 0x1000), (0x3000, 1)])],
                },
                untouched: Extents { ranges: vec![(0xc000, 0x3000)], moving: vec![] },
                closed: Extents::default(),
                reserved: Extents {
                    ranges: vec![(0xa000, 0x1000)],
                    moving: vec![(thread(3), vec![(0, 8)]), (thread(4), vec![])],
                },
            }),
            ..Chapter::default()
        };
        let mut sites = Sites::new(&OF_CHAPTER);
        for node in [9u32, 8, 4_000_000_000] {
            let mut metrics = Metrics::default();
            for index in OF_CHAPTER {
                *(COUNTS[index].of)(&mut metrics) = u64::from(node) * 100 + index as u64;
            }
            metrics.live_bytes = Bytes((node as u64).wrapping_neg());
            let (thread, number) = (thread(node), BlockNo(u64::from(node) * 3));
            let (size, time) = (Bytes(40), Units(7));
            let (is_last, steps) = (node == 8, node as u16);
            let node = NodeId::new(node);
            sites.push_metrics(node, &metrics);
            chapter.carried.push(Carried { number, size, time, node, thread, is_last, steps });
        }
        chapter.sites = sites.read_back().unwrap();
        for (chapter, sites) in [(chapter, sites), (Chapter::default(), Sites::new(&OF_CHAPTER))] {
            let packed = encode(&chapter, &sites);
            assert_eq!(decode(&packed, Wanted::All).unwrap(), chapter);
            let outline = Chapter { sites: PackedSites::default(), carried: Vec::new(), ..chapter.clone() };
            assert_eq!(decode(&packed, Wanted::Outline).unwrap(), outline);
            let beginning = Chapter { sites: PackedSites::default(), ..chapter.clone() };
            assert_eq!(decode(&packed, Wanted::Carried).unwrap(), beginning);
        }
    }

    proptest! {
        #[test]
        fn damage_is_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(&bytes, Wanted::All);
            let _ = decode(&crate::compress(&bytes), Wanted::All);
        }
    }
}
