//! The payload of an index block, the last block of a file: the headers of all other blocks, and what times they are
//! about. With it, opening a recording is one read; without it, in a file that was cut off, blocks are found one by one.
//!
//! ```text
//! payload   zstd: the number of blocks, then one column over all blocks for each field
//!           length of the whole index block, header included, bytes   u32
//!           "MTIX"
//! ```

use crate::Damage;
use crate::bytes::{Unread, put_varint, unzigzag, zigzag};
use crate::costs::Cost;
use crate::events::EventsHeader;
use crate::frame::{BlockKind, HEADER_BYTES, Header};
use crate::ids::{BlockNo, ImageNo, Units};

/// Last bytes of a file with an index.
const MAGIC: [u8; 4] = *b"MTIX";
/// The length and [`MAGIC`].
pub(crate) const TRAILER_BYTES: usize = 8;
/// Bytes of one block's fields at the most: four varints of 64 bits, two of 32, a kind and a check.
const MAX_ENTRY: usize = 4 * 10 + 2 * 5 + 1 + 4;
/// Blocks of a file at the most.
const MAX_ENTRIES: usize = 1 << 26;

/// What times a block is about, as far as a reader wants to know before it reads the block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Extent {
    /// Time of the first event or cost.
    pub first_time: Units,
    pub last_time: Units,
    /// How many there are.
    pub count: u64,
    /// Of events: blocks of memory acquired before, in this process image.
    pub first_block: BlockNo,
}

impl From<EventsHeader> for Extent {
    fn from(header: EventsHeader) -> Extent {
        let EventsHeader { count, first_time, last_time, first_block, .. } = header;
        Extent { first_time, last_time, count: count as u64, first_block }
    }
}

impl Extent {
    /// Of costs, which come in any order.
    pub fn of_costs(costs: &[Cost]) -> Option<Extent> {
        let first_time = costs.iter().map(|cost| cost.times().0).min()?;
        let last_time = costs.iter().map(|cost| cost.times().1).max()?;
        Some(Extent { first_time, last_time, count: costs.len() as u64, first_block: BlockNo(0) })
    }

    /// Whether any of it may be between two times, both included.
    pub fn meets(&self, from: Units, to: Units) -> bool {
        self.first_time <= to && from <= self.last_time
    }
}

/// A block in the index.
pub type Entry = (Header, Option<Extent>);

/// Packs an index.
pub fn encode(entries: &[Entry]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(entries.len() * 16);
    put_varint(&mut plain, entries.len() as u64);
    plain.extend(entries.iter().map(|(header, _)| header.kind.number()));
    let mut before = 0;
    for (header, _) in entries {
        let image = i64::from(ImageNo::or_zero(header.image));
        put_varint(&mut plain, zigzag(image - before));
        before = image;
    }
    entries.iter().for_each(|(header, _)| put_varint(&mut plain, u64::from(header.length)));
    entries.iter().for_each(|(header, _)| plain.extend_from_slice(&header.check.to_le_bytes()));
    let extents = || entries.iter().map(|(_, extent)| extent.unwrap_or_default());
    // Nothing is in a block that has no extent.
    extents().for_each(|extent| put_varint(&mut plain, extent.count));
    for extent in extents().filter(|extent| extent.count > 0) {
        put_varint(&mut plain, extent.first_time.0);
        put_varint(&mut plain, extent.last_time.0.wrapping_sub(extent.first_time.0));
        put_varint(&mut plain, extent.first_block.0);
    }
    let mut payload = crate::compress(&plain);
    let length = (HEADER_BYTES + payload.len() + TRAILER_BYTES) as u32;
    payload.extend_from_slice(&length.to_le_bytes());
    payload.extend_from_slice(&MAGIC);
    payload
}

/// Unpacks an index.
pub fn decode(payload: &[u8]) -> Result<Vec<Entry>, Damage> {
    let packed = payload.len().checked_sub(TRAILER_BYTES).ok_or(Damage::Short)?;
    let plain = crate::decompress(&payload[..packed], MAX_ENTRIES * MAX_ENTRY)?;
    let mut bytes = Unread::new(&plain);
    let count = bytes.varint()? as usize;
    if count > MAX_ENTRIES || count > bytes.remaining() {
        return Err(Damage::Value("more blocks than the index can hold"));
    }
    let kinds = bytes.take(count)?;
    let mut entries = Vec::with_capacity(count);
    let mut image = 0i64;
    for kind in kinds {
        image = image.wrapping_add(unzigzag(bytes.varint()?));
        let image = u32::try_from(image).map_err(|_| Damage::Value("a process image beyond all numbers"))?;
        let (kind, image) = (BlockKind::from_number(*kind), ImageNo::new(image));
        entries.push((Header { kind, image, length: 0, check: 0 }, None));
    }
    for (header, _) in &mut entries {
        header.length = bytes.varint32()?;
    }
    for (header, _) in &mut entries {
        let mut check = [0; 4];
        check.copy_from_slice(bytes.take(4)?);
        header.check = u32::from_le_bytes(check);
    }
    for (_, extent) in &mut entries {
        let count = bytes.varint()?;
        *extent = (count > 0).then_some(Extent { count, ..Extent::default() });
    }
    for extent in entries.iter_mut().filter_map(|(_, extent)| extent.as_mut()) {
        extent.first_time = Units(bytes.varint()?);
        extent.last_time = Units(extent.first_time.0.wrapping_add(bytes.varint()?));
        extent.first_block = BlockNo(bytes.varint()?);
    }
    Ok(entries)
}

/// The length of the whole index block whose last bytes these are; `None` if there is no index.
pub(crate) fn length(trailer: &[u8; TRAILER_BYTES]) -> Option<u64> {
    let length = u32::from_le_bytes([trailer[0], trailer[1], trailer[2], trailer[3]]);
    (trailer[4..] == MAGIC).then_some(u64::from(length))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::CostKind;

    use proptest::prelude::*;

    fn any_entry() -> impl Strategy<Value = Entry> {
        let extent = (any::<u64>(), any::<u64>(), 1u64.., any::<u64>()).prop_map(
            |(first_time, last_time, count, first_block)| {
                let (first_time, last_time) = (Units(first_time), Units(last_time));
                Extent { first_time, last_time, count, first_block: BlockNo(first_block) }
            },
        );
        (any::<(u8, u32, u32, u32)>(), proptest::option::of(extent)).prop_map(
            |((kind, image, length, check), extent)| {
                let (kind, image) = (BlockKind::from_number(kind), ImageNo::new(image));
                (Header { kind, image, length, check }, extent)
            },
        )
    }

    /// A span of time that ends within a wait finds it.
    #[test]
    fn costs_are_there_while_they_last() {
        let cost = |kind, time, inside: Option<u64>, amount| {
            let inside = inside.map(Units);
            Cost { inside, ..Cost::of(kind, Units(time), amount) }
        };
        let extent =
            Extent::of_costs(&[cost(CostKind::Fault, 90, None, 50), cost(CostKind::Waiting, 100, Some(101), 30)])
                .unwrap();
        assert_eq!((extent.first_time, extent.last_time, extent.count), (Units(70), Units(101), 2));
        assert_eq!(Extent::of_costs(&[]), None);
    }

    proptest! {
        #[test]
        fn indexes_come_back(entries in proptest::collection::vec(any_entry(), 0..100)) {
            let payload = encode(&entries);
            let mut trailer = [0; TRAILER_BYTES];
            trailer.copy_from_slice(&payload[payload.len() - TRAILER_BYTES..]);
            prop_assert_eq!(length(&trailer), Some((payload.len() + HEADER_BYTES) as u64));
            prop_assert_eq!(decode(&payload).unwrap(), entries);
        }

        #[test]
        fn damage_is_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = decode(&bytes);
            let _ = decode(&[crate::compress(&bytes), vec![0; TRAILER_BYTES]].concat());
        }
    }
}
