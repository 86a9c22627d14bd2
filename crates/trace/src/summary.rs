//! The payload of a summary block: an image's metrics by call site, so that a report needs no pass over the events.
//!
//! zstd over variable-length integers: peaks, live curve, then the columns of [`crate::metrics`] over all sites.

use crate::Damage;
use crate::bytes::{Unread, put_varint, unzigzag, zigzag};
use crate::ids::NodeId;
use crate::metrics::{Columns, Metrics, OF_SUMMARY, Rows};

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
}

/// An image's summary.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Summary {
    /// Stack node and metrics of each call site.
    pub sites: Vec<(Option<NodeId>, Metrics)>,
    /// The image's live bytes over time.
    pub curve: LiveCurve,
    /// When live bytes were at their peak, units.
    pub peak_time: u64,
    /// The peak with the program's own mappings.
    pub peak_with_mappings: PeakWithMappings,
}

const MAX_SITES: usize = 1 << 26;
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
    put_varint(&mut plain, sites.len() as u64);
    let mut columns = Columns::new(&OF_SUMMARY, sites.len());
    let mut before = 0;
    for (node, metrics) in sites {
        let number = i64::from(NodeId::or_zero(node));
        put_varint(&mut plain, zigzag(number - before));
        before = number;
        columns.push_metrics(&metrics);
    }
    columns.put(&mut plain);
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
    let sites = bytes.varint()? as usize;
    if sites > MAX_SITES || sites > bytes.remaining() {
        return Err(Damage::Value("more sites than the summary can hold"));
    }
    let mut nodes = bytes;
    bytes.skip_varints(sites)?;
    let mut rows = Rows::read(&mut bytes, sites)?;
    summary.sites.reserve_exact(sites);
    let mut before = 0i64;
    for _ in 0..sites {
        before = before.wrapping_add(unzigzag(nodes.varint()?));
        let node = u32::try_from(before).map_err(|_| Damage::Value("a node id beyond all ids"))?;
        summary.sites.push((NodeId::new(node), rows.row()?));
    }
    Ok(summary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::COUNTS;

    #[test]
    fn summaries_come_back() {
        let mut summary = Summary {
            peak_time: 77,
            peak_with_mappings: PeakWithMappings { block_bytes: 1 << 40, mapped_bytes: 9, reserved_bytes: 5, time: 78 },
            curve: LiveCurve { start: 5, width: 1024, highest: vec![100, 50, 1 << 40] },
            sites: Vec::new(),
        };
        for node in [9u32, 8, 4_000_000_000] {
            let mut metrics = Metrics::default();
            for index in OF_SUMMARY.into_iter().filter(|index| index % 5 != 0) {
                *(COUNTS[index].of)(&mut metrics) = node as u64 * 100 + index as u64;
            }
            summary.sites.push((NodeId::new(node), metrics));
        }
        for summary in [summary, Summary::default()] {
            let Summary { curve, peak_time, peak_with_mappings, .. } = &summary;
            let packed = encode(summary.sites.iter().copied(), curve, *peak_time, peak_with_mappings);
            assert_eq!(decode(&packed).unwrap(), summary);
        }
    }

    #[test]
    fn damage_is_an_error() {
        assert!(decode(&[]).is_err());
        assert!(decode(&crate::compress(&[0, 0, 0, 0, 0, 0, 255, 255, 255, 127])).is_err());
        assert!(decode(&crate::compress(&[0, 0, 0, 0, 0, 0, 0, 255, 255, 127])).is_err());
    }
}
