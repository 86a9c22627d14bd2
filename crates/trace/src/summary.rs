//! The payload of a summary block: an image's metrics by call site, so that a report needs no pass over the events.
//!
//! zstd over variable-length integers: peaks, live curve, then the columns of [`crate::metrics`] over all sites.

use crate::Damage;
use crate::bytes::{Unread, put_varint, unzigzag, zigzag};
use crate::ids::NodeId;
use crate::metrics::{Metrics, OF_SUMMARY};
use crate::packed_sites::{PackedSites, Packing};

/// Live bytes over time: the highest value in each of a row of equal intervals.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct LiveCurve {
    /// Start of the first interval, units.
    pub start: u64,
    /// Length of an interval, units.
    pub width: u64,
    /// Highest number of live bytes in each interval.
    pub highest: Vec<u64>,
}

impl LiveCurve {
    /// Joins each two neighbouring intervals.
    pub fn join_pairs(&mut self) {
        self.highest = self.highest.chunks(2).map(|pair| pair.iter().copied().max().unwrap_or(0)).collect();
        self.width = self.width.saturating_mul(2);
    }
}

/// The highest sum of live blocks and of the program's own mappings at one instant.
///
/// Own mappings are those that [`Metrics::mapped_bytes`] counts, until they are given back or replaced. What a pool hands out
/// of them counts as blocks.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct PeakWithMappings {
    /// Bytes of blocks live then.
    pub block_bytes: u64,
    /// Bytes of own mappings then that the program had touched, without what counts as blocks. Where the kernel did not tell
    /// of page faults, all that it could touch.
    pub mapped_bytes: u64,
    /// Bytes of own mappings then that were only reserved: never touched, given back by madvise, or without access. Not part of
    /// the sum.
    pub reserved_bytes: u64,
    /// When that was, units.
    pub time: u64,
}

impl PeakWithMappings {
    /// Blocks and mappings together.
    pub fn bytes(&self) -> u64 {
        self.block_bytes.saturating_add(self.mapped_bytes)
    }

    /// Whether the program's own mappings are a part of it that is worth telling: a thread's signal stack is not.
    pub fn is_of_both(&self) -> bool {
        self.is_worth_telling(self.mapped_bytes)
    }

    /// Whether some bytes are a hundredth of it.
    pub fn is_worth_telling(&self, bytes: u64) -> bool {
        bytes > 0 && bytes.saturating_mul(100) >= self.bytes()
    }
}

/// An image's summary.
#[derive(Clone, Default, Debug)]
pub struct Summary {
    /// The call sites.
    pub sites: PackedSites,
    /// The image's live bytes over time.
    pub curve: LiveCurve,
    /// When live bytes were at their peak, units.
    pub peak_time: u64,
    /// The peak with the program's own mappings.
    pub peak_with_mappings: PeakWithMappings,
}

const MAX_BYTES: usize = 1 << 30;

/// Packs a summary: stack node and metrics of each call site, the image's live bytes over time, when they were at their
/// peak, units, and the peak with the program's own mappings.
pub fn encode(
    sites: impl ExactSizeIterator<Item = (Option<NodeId>, Metrics)>,
    curve: &LiveCurve,
    peak_time: u64,
    peak_with_mappings: &PeakWithMappings,
) -> Vec<u8> {
    let mut plain = Vec::new();
    put_varint(&mut plain, peak_time);
    put_varint(&mut plain, peak_with_mappings.block_bytes);
    put_varint(&mut plain, peak_with_mappings.mapped_bytes);
    put_varint(&mut plain, peak_with_mappings.reserved_bytes);
    put_varint(&mut plain, peak_with_mappings.time);
    put_varint(&mut plain, curve.start);
    put_varint(&mut plain, curve.width);
    put_varint(&mut plain, curve.highest.len() as u64);
    let mut before = 0;
    for &value in &curve.highest {
        put_varint(&mut plain, zigzag(value.wrapping_sub(before) as i64));
        before = value;
    }
    let mut packing = Packing::new(&OF_SUMMARY);
    sites.for_each(|(node, metrics)| packing.push_metrics(node, &metrics));
    packing.put(&mut plain);
    crate::compress(&plain)
}

/// Unpacks a summary.
pub fn decode(payload: &[u8]) -> Result<Summary, Damage> {
    let plain = crate::decompress(payload, MAX_BYTES)?;
    let mut bytes = Unread::new(&plain);
    let mut summary = Summary { peak_time: bytes.varint()?, ..Summary::default() };
    summary.peak_with_mappings = PeakWithMappings {
        block_bytes: bytes.varint()?,
        mapped_bytes: bytes.varint()?,
        reserved_bytes: bytes.varint()?,
        time: bytes.varint()?,
    };
    summary.curve.start = bytes.varint()?;
    summary.curve.width = bytes.varint()?;
    let intervals = bytes.varint()? as usize;
    if intervals > bytes.remaining() {
        return Err(Damage::Short);
    }
    let mut before = 0u64;
    for _ in 0..intervals {
        before = before.wrapping_add(unzigzag(bytes.varint()?) as u64);
        summary.curve.highest.push(before);
    }
    summary.sites = PackedSites::read(&mut bytes, &plain)?.keeping(plain);
    Ok(summary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::COUNTS;

    #[test]
    fn summaries_come_back() {
        let curve = LiveCurve { start: 5, width: 1024, highest: vec![100, 50, 1 << 40] };
        let peak = PeakWithMappings { block_bytes: 1 << 40, mapped_bytes: 9, reserved_bytes: 5, time: 78 };
        let site = |node: u32| {
            let mut metrics = Metrics::default();
            for index in OF_SUMMARY.into_iter().filter(|index| index % 5 != 0) {
                *(COUNTS[index].of)(&mut metrics) = node as u64 * 100 + index as u64;
            }
            (NodeId::new(node), metrics)
        };
        let sites = [9u32, 8, 4_000_000_000].map(site);
        for (sites, curve, peak) in [(&sites[..], curve, peak), Default::default()] {
            let mut found = decode(&encode(sites.iter().copied(), &curve, 77, &peak)).unwrap();
            assert_eq!((&found.curve, found.peak_time, found.peak_with_mappings), (&curve, 77, peak));
            assert_eq!(found.sites.len(), sites.len());
            assert_eq!(found.sites.iter().collect::<Vec<_>>(), sites);
            found.sites.rename(|node| NodeId::new(node.get() - 1).unwrap());
            let renamed = sites.iter().map(|(node, metrics)| (NodeId::new(NodeId::or_zero(*node) - 1), *metrics));
            assert_eq!(found.sites.iter().collect::<Vec<_>>(), renamed.collect::<Vec<_>>());
        }
    }

    #[test]
    fn damage_is_an_error() {
        assert!(decode(&[]).is_err());
        assert!(decode(&crate::compress(&[0, 0, 0, 0, 0, 0, 255, 255, 255, 127])).is_err());
        assert!(decode(&crate::compress(&[0, 0, 0, 0, 0, 0, 0, 255, 255, 127])).is_err());
        // One site with one column, whose value has more than 64 bits.
        let long = |last: u8| [&[0, 0, 0, 0, 0, 0, 0, 0, 1, 18, 1, 1, 10][..], &[255; 9], &[last]].concat();
        assert_eq!(decode(&crate::compress(&long(1))).unwrap().sites.iter().count(), 1);
        assert!(decode(&crate::compress(&long(2))).is_err());
    }
}
