//! The payload of a summary block: an image's metrics by call site, so that a report needs no pass over the events.
//!
//! zstd over variable-length integers: peaks, live curve, then one column per metric over all sites.

use crate::Damage;
use crate::bytes::{Bytes, put_varint, unzigzag, zigzag};
use crate::ids::NodeId;

/// What is counted for a call site, a process, or a whole recording.
///
/// Bytes are those asked for; times are in units of the recording's clock.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Metrics {
    /// Blocks acquired by malloc, calloc, aligned forms, operator new, and realloc of a null pointer.
    pub allocations: u64,
    /// Calls of realloc and reallocarray with a block.
    pub reallocations: u64,
    /// Blocks released, other than by reallocation. Counted at the site that releases.
    pub frees: u64,
    /// Releases of a null pointer.
    pub free_null_calls: u64,
    /// Acquisitions that failed.
    pub failed: u64,
    /// Bytes of allocations and reallocations (their new sizes).
    pub bytes_allocated: u64,
    /// Bytes live when the image's live bytes were at their peak.
    pub peak_bytes: u64,
    /// Blocks live then.
    pub peak_allocations: u64,
    /// Bytes live at the end.
    pub live_bytes: u64,
    /// Blocks live at the end.
    pub live_allocations: u64,
    /// Blocks released before the allocating thread's next allocation.
    pub temporary: u64,
    /// Sum of the lifetimes of released blocks, units.
    pub lifetime: u64,
    /// Time inside the allocating and releasing functions, units. It contains what was paid inside for faults, mappings
    /// and waiting, and the stamps. A release is charged to the site that allocated the block.
    pub allocator_time: u64,
    /// Calls whose time that is.
    pub timed_calls: u64,
    /// Minor faults of pages of the site's blocks and mappings.
    pub faults: u64,
    /// Those of them that happened inside a call of an allocation function.
    pub faults_inside: u64,
    /// How many of these were sampled one by one, which made them slower.
    pub samples_inside: u64,
    /// Minor faults of huge pages.
    pub huge_faults: u64,
    /// Those of them that happened inside a call of an allocation function.
    pub huge_faults_inside: u64,
    /// Major faults: the pages were read from a disk.
    pub major_faults: u64,
    /// Minor faults of pages of files that the site mapped.
    pub file_faults: u64,
    /// Time without the processor in major faults outside of the allocating functions, units.
    pub reading_time: u64,
    /// How often the allocator took memory from the system inside the site's calls.
    pub grown_calls: u64,
    /// How much, bytes.
    pub grown_bytes: u64,
    /// Calls of mmap and mremap by which the program took memory, other than files and address space that it cannot use.
    pub mappings: u64,
    /// How much it asked for, bytes: new sizes, as with reallocations.
    pub mapped_bytes: u64,
    /// Time in calls for mappings, units, those inside the allocator included.
    pub mapping_time: u64,
    /// The share of [`Metrics::allocator_time`] that went into mappings, units.
    pub mapping_inside: u64,
    /// Time inside the allocating functions spent waiting, units.
    pub waiting_time: u64,
    /// Time inside the allocating functions without the processor that was no waiting for another thread: preempted or
    /// halted, units.
    pub preempted_time: u64,
    /// Blocks that were live when the span began that is added up. Of a whole recording there is none, so it is not in the
    /// file.
    pub live_before: u64,
    /// Time of the site's releases of known blocks, less the time of the releases, by whatever site, of the site's own blocks:
    /// what [`Metrics::allocator_time`] lacks if each call is charged to the site that makes it. It may be less than 0: it
    /// wraps around. In chapters and their parts only.
    pub release_balance: u64,
    /// Largest block, bytes.
    pub largest: u64,
    /// Bit n: operation number n was called.
    pub operations: u64,
    /// Events: calls of allocation functions (a reallocation is one).
    pub events: u64,
    /// Events whose stack is cut off.
    pub truncated_stacks: u64,
}

/// Applies a macro to all fields that add up, in the order of the file's columns.
macro_rules! each_sum {
    ($do:ident) => {
        $do!(
            allocations,
            reallocations,
            frees,
            free_null_calls,
            failed,
            bytes_allocated,
            peak_bytes,
            peak_allocations,
            live_bytes,
            live_allocations,
            temporary,
            lifetime,
            allocator_time,
            timed_calls,
            events,
            truncated_stacks,
            faults,
            faults_inside,
            samples_inside,
            huge_faults,
            huge_faults_inside,
            major_faults,
            file_faults,
            reading_time,
            grown_calls,
            grown_bytes,
            mappings,
            mapped_bytes,
            mapping_time,
            mapping_inside,
            waiting_time,
            preempted_time
        )
    };
}

const COLUMNS: usize = 34;

impl Metrics {
    /// Adds what another site or process counted. Peaks add up too: they are shares of one instant's live bytes.
    pub fn add(&mut self, other: &Metrics) {
        macro_rules! add {
            ($($field:ident),*) => { $(self.$field = self.$field.wrapping_add(other.$field);)* };
        }
        each_sum!(add);
        self.live_before = self.live_before.wrapping_add(other.live_before);
        self.release_balance = self.release_balance.wrapping_add(other.release_balance);
        self.largest = self.largest.max(other.largest);
        self.operations |= other.operations;
    }

    /// All fields that add up, but [`Metrics::release_balance`], which only chapters have.
    pub const SUMS: &'static [fn(&mut Metrics) -> &mut u64] = {
        macro_rules! list {
            ($($field:ident),*) => { &[$(|metrics| &mut metrics.$field,)* |metrics| &mut metrics.live_before] };
        }
        each_sum!(list)
    };

    /// The values of all fields in the order of the file's columns.
    fn values(&self) -> [u64; COLUMNS] {
        macro_rules! list {
            ($($field:ident),*) => { [$(self.$field,)* self.largest, self.operations] };
        }
        each_sum!(list)
    }
}

/// All fields in the order of the file's columns.
const FIELDS: [fn(&mut Metrics) -> &mut u64; COLUMNS] = {
    macro_rules! list {
        ($($field:ident),*) => {
            [$(|metrics| &mut metrics.$field,)* |metrics| &mut metrics.largest, |metrics| &mut metrics.operations]
        };
    }
    each_sum!(list)
};

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
    // Sites are looked at once, not once a column, and none is kept: there can be hundreds of thousands.
    let mut columns: [Vec<u8>; COLUMNS] = std::array::from_fn(|_| Vec::with_capacity(sites.len()));
    let mut before = 0;
    for (node, metrics) in sites {
        let number = i64::from(NodeId::or_zero(node));
        put_varint(&mut plain, zigzag(number - before));
        before = number;
        for (column, value) in columns.iter_mut().zip(metrics.values()) {
            put_varint(column, value);
        }
    }
    plain.reserve_exact(columns.iter().map(Vec::len).sum());
    columns.iter().for_each(|column| plain.extend_from_slice(column));
    crate::compress(&plain)
}

/// Unpacks a summary.
pub fn decode(payload: &[u8]) -> Result<Summary, Damage> {
    let plain = crate::decompress(payload, MAX_BYTES)?;
    let mut bytes = Bytes::new(&plain);
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
    // Most sites have no costs, so most columns are empty.
    let mut columns = Vec::with_capacity(COLUMNS);
    for field in &FIELDS {
        let column = bytes;
        if !bytes.skip_zeros(sites) {
            bytes.skip_varints(sites)?;
            columns.push((field, column));
        }
    }
    // Site by site: to come back to all of them for each column takes three times as long where there are many.
    summary.sites.reserve_exact(sites);
    let mut before = 0i64;
    for _ in 0..sites {
        before = before.wrapping_add(unzigzag(nodes.varint()?));
        let node = u32::try_from(before).map_err(|_| Damage::Value("a node id beyond all ids"))?;
        let mut metrics = Metrics::default();
        for (field, column) in &mut columns {
            *field(&mut metrics) = column.varint()?;
        }
        summary.sites.push((NodeId::new(node), metrics));
    }
    Ok(summary)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            for (i, field) in FIELDS.iter().enumerate().filter(|(i, _)| i % 5 != 0) {
                *field(&mut metrics) = node as u64 * 100 + i as u64;
            }
            let values: Vec<u64> = FIELDS.iter().map(|field| *field(&mut metrics)).collect();
            assert_eq!(metrics.values().to_vec(), values);
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
