//! The payload of a parts block: how the sums of a chapter divide among threads and sizes of blocks.
//!
//! ```text
//! site of the chapter   usual: thread, size   others: thread, size, counts
//!                       all that is not in others
//! ```
//!
//! At most call sites, one thread handles blocks of one size, so these parts cost next to nothing, in the file and while a
//! program is recorded: only the others are counted.

use crate::Damage;
use crate::bytes::{Unread, put_varint, unzigzag, zigzag};
use crate::chapter::Chapter;
use crate::ids::{Bytes, NodeId, ThreadNo};
use crate::metrics::{Columns, Metrics, OF_PART, Rows};

crate::index! {
    /// A call site of a chapter: its place in [`Chapter::sites`].
    SiteNo
}

/// What a site does with blocks of one size in one thread: the thread that acquired a block for what became of the block,
/// the one that made the call for all else, also for the time of a release. The size of a call without a block is what was asked for,
/// or 0.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Usual {
    /// The thread; `None`: nothing is usual.
    pub thread: Option<ThreadNo>,
    /// Bytes.
    pub size: u64,
    /// The only operation that such calls have; 0: there is no call.
    pub operation: u8,
}

/// Another thread or size at a site.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Other {
    pub site: SiteNo,
    pub thread: ThreadNo,
    /// Bytes.
    pub size: u64,
    /// What is counted of it. Only fields count that [`Chapter::sites`] have; of those, bytes follow from the size.
    pub metrics: Metrics,
}

/// A part of a site's sums.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// The site's stack.
    pub node: Option<NodeId>,
    pub thread: Option<ThreadNo>,
    /// Size of the blocks, bytes.
    pub size: u64,
    /// What is counted of it, as in [`Chapter::sites`].
    pub metrics: Metrics,
}

/// The parts of a chapter.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Parts {
    /// By site of the chapter.
    pub usual: Vec<Usual>,
    /// All others, by site.
    pub others: Vec<Other>,
}

/// Others of a chapter at the most: a chapter with more has no parts.
pub const MOST_OTHERS: usize = 1 << 15;

/// What follows from the other fields at most call sites: where no reallocation gave back a block or gave none, and so on.
struct Usually {
    bytes: u64,
    timed_calls: u64,
    events: u64,
}

impl Usually {
    fn of(metrics: &Metrics, size: u64) -> Usually {
        let acquired = metrics.new_blocks.wrapping_add(metrics.reallocations);
        let released = acquired.wrapping_sub(metrics.live_blocks);
        Usually {
            bytes: acquired.wrapping_mul(size),
            timed_calls: acquired.wrapping_add(released).wrapping_add(metrics.null_frees),
            events: acquired.wrapping_add(metrics.frees).wrapping_add(metrics.null_frees),
        }
    }
}

/// No parts are as long, unpacked. Bytes.
const MAX_BYTES: usize = 1 << 30;

/// Packs the parts of a chapter.
pub fn encode(parts: &Parts) -> Vec<u8> {
    let Parts { usual, others } = parts;
    let mut plain = Vec::with_capacity(usual.len() * 5 + others.len() * 20);
    let out = &mut plain;
    put_varint(out, usual.len() as u64);
    put_varint(out, others.len() as u64);
    usual.iter().for_each(|usual| put_varint(out, u64::from(ThreadNo::or_zero(usual.thread))));
    usual.iter().for_each(|usual| put_varint(out, usual.size));
    out.extend(usual.iter().map(|usual| usual.operation));
    let mut before = 0;
    for other in others {
        put_varint(out, u64::from(other.site.get().wrapping_sub(before)));
        before = other.site.get();
    }
    others.iter().for_each(|other| put_varint(out, u64::from(other.thread.get())));
    let mut before = 0;
    for other in others {
        put_varint(out, zigzag(other.size.wrapping_sub(before) as i64));
        before = other.size;
    }
    let mut columns = Columns::new(&OF_PART);
    others.iter().for_each(|other| columns.push_metrics(&stored(&other.metrics, other.size)));
    columns.put(out);
    crate::compress(&plain)
}

/// Unpacks the parts of a chapter.
pub fn decode(payload: &[u8]) -> Result<Parts, Damage> {
    let plain = crate::decompress(payload, MAX_BYTES)?;
    let mut bytes = Unread::new(&plain);
    let bytes = &mut bytes;
    let (sites, others) = (bytes.varint()? as usize, bytes.varint()? as usize);
    // A usual part takes three bytes at least.
    if sites > bytes.remaining() / 3 {
        return Err(Damage::Short);
    }
    if others > MOST_OTHERS {
        return Err(Damage::Value("more parts than a chapter may have"));
    }
    let mut parts = Parts { usual: vec![Usual::default(); sites], others: Vec::new() };
    for usual in &mut parts.usual {
        usual.thread = ThreadNo::new(bytes.varint32()?);
    }
    for usual in &mut parts.usual {
        usual.size = bytes.varint()?;
    }
    for (usual, operation) in parts.usual.iter_mut().zip(bytes.take(sites)?) {
        usual.operation = *operation;
    }
    let mut sites = *bytes;
    bytes.skip_varints(others)?;
    let mut site = 0u32;
    parts.others.reserve_exact(others);
    for _ in 0..others {
        site = site.checked_add(sites.varint32()?).ok_or(Damage::Value("a call site beyond all numbers"))?;
        let thread = ThreadNo::somebody(bytes.varint32()?)?;
        parts.others.push(Other { site: SiteNo::new(site), thread, size: 0, metrics: Metrics::default() });
    }
    let mut size = 0u64;
    for other in &mut parts.others {
        size = size.wrapping_add(unzigzag(bytes.varint()?) as u64);
        other.size = size;
    }
    let mut rows = Rows::read(bytes, others)?;
    for other in &mut parts.others {
        other.metrics = rows.row()?;
        derive(&mut other.metrics, other.size);
    }
    Ok(parts)
}

/// What is stored of a part's counts: of those that usually follow from others, only what there is beyond, zigzag. Live bytes and
/// the largest block always follow.
fn stored(metrics: &Metrics, size: u64) -> Metrics {
    let usually = Usually::of(metrics, size);
    let beyond = |count: u64, usual: u64| zigzag(count.wrapping_sub(usual) as i64);
    Metrics {
        bytes: Bytes(beyond(metrics.bytes.0, usually.bytes)),
        timed_calls: beyond(metrics.timed_calls, usually.timed_calls),
        events: beyond(metrics.events, usually.events),
        ..*metrics
    }
}

/// What follows from what is stored, and from the size of the blocks.
fn derive(metrics: &mut Metrics, size: u64) {
    let usually = Usually::of(metrics, size);
    let whole = |usual: u64, beyond: u64| usual.wrapping_add(unzigzag(beyond) as u64);
    metrics.bytes = Bytes(whole(usually.bytes, metrics.bytes.0));
    metrics.timed_calls = whole(usually.timed_calls, metrics.timed_calls);
    metrics.events = whole(usually.events, metrics.events);
    metrics.live_bytes = Bytes(metrics.live_blocks.wrapping_mul(size));
    metrics.largest_bytes = Bytes(largest(metrics, size));
}

fn largest(metrics: &Metrics, size: u64) -> u64 {
    if metrics.bytes > Bytes::ZERO { size } else { 0 }
}

impl Parts {
    /// The parts of all sites of their chapter.
    pub fn of(&self, chapter: &Chapter) -> Result<Vec<Part>, Damage> {
        let mut all = Vec::with_capacity(self.usual.len() + self.others.len());
        self.each_site(chapter, |node, total, usual, others| {
            let part = |other: &Other| {
                let Other { thread, size, metrics, .. } = *other;
                Part { node, thread: Some(thread), size, metrics }
            };
            all.extend(others.iter().map(part));
            let metrics = usual.rest(total, others);
            if metrics != Metrics::default() {
                all.push(Part { node, thread: usual.thread, size: usual.size, metrics });
            }
        })?;
        Ok(all)
    }

    /// What the parts of each site that `admits` lets through, by thread and size, have together. Most sites have only parts
    /// that count, or none.
    pub fn together(
        &self,
        chapter: &Chapter,
        admits: impl Fn(Option<ThreadNo>, u64) -> bool,
        mut take: impl FnMut(Option<NodeId>, Metrics),
    ) -> Result<(), Damage> {
        self.each_site(chapter, |node, total, usual, others| {
            let admitted = others.iter().filter(|other| admits(Some(other.thread), other.size));
            let (count, is_usual) = (admitted.clone().count(), admits(usual.thread, usual.size));
            if is_usual && count == others.len() {
                take(node, total);
            } else if is_usual || count > 0 {
                let mut sum = if is_usual { usual.rest(total, others) } else { Metrics::default() };
                admitted.for_each(|other| sum.add(&other.metrics));
                take(node, sum);
            }
        })
    }

    fn each_site(
        &self,
        chapter: &Chapter,
        mut take: impl FnMut(Option<NodeId>, Metrics, &Usual, &[Other]),
    ) -> Result<(), Damage> {
        if self.usual.len() != chapter.sites.len() {
            return Err(Damage::Value("parts of another chapter"));
        }
        let mut left = &self.others[..];
        for (index, ((node, total), usual)) in chapter.sites.iter().zip(&self.usual).enumerate() {
            let of_site = left.iter().take_while(|other| other.site.index() == index).count();
            let (others, behind) = left.split_at(of_site);
            take(node, total, usual, others);
            left = behind;
        }
        if left.is_empty() { Ok(()) } else { Err(Damage::Value("a part of a call site that never was")) }
    }
}

impl Usual {
    /// What it has of a site with these others.
    fn rest(&self, total: Metrics, others: &[Other]) -> Metrics {
        let mut rest = total;
        others.iter().for_each(|other| rest.subtract_sums(&other.metrics));
        rest.largest_bytes = Bytes(largest(&rest, self.size));
        rest.operations = if rest.events > 0 { 1u64.wrapping_shl(u32::from(self.operation)) } else { 0 };
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::OF_CHAPTER;
    use crate::packed_sites::Packing;

    const FIRST: Option<ThreadNo> = Some(ThreadNo::FIRST);

    /// A chapter with some of the call sites that parts are of.
    fn chapter_with(sites: usize) -> Chapter {
        let total = Metrics {
            new_blocks: 5,
            frees: 1,
            events: 6,
            bytes: Bytes(4 * 16 + 40),
            operations: 0b110,
            largest_bytes: Bytes(40),
            live_blocks: 1u64.wrapping_neg(),
            live_bytes: Bytes(40u64.wrapping_neg()),
            ..Metrics::default()
        };
        let second = Metrics { frees: 3, events: 3, operations: 4, ..Metrics::default() };
        let mut packing = Packing::new(&OF_CHAPTER);
        let all = [(NodeId::new(9), total), (NodeId::new(12), second)];
        all.iter().take(sites).for_each(|(node, metrics)| packing.push_metrics(*node, metrics));
        Chapter { sites: packing.read_back().unwrap(), ..Chapter::default() }
    }

    fn chapter() -> Chapter {
        chapter_with(2)
    }

    fn parts() -> Parts {
        let apart = Metrics {
            new_blocks: 1,
            events: 1,
            bytes: Bytes(40),
            operations: 2,
            largest_bytes: Bytes(40),
            live_blocks: 1u64.wrapping_neg(),
            live_bytes: Bytes(40u64.wrapping_neg()),
            ..Metrics::default()
        };
        let freed = Metrics { frees: 1, events: 1, operations: 4, ..Metrics::default() };
        Parts {
            usual: vec![
                Usual { thread: FIRST, size: 16, operation: 1 },
                Usual { thread: FIRST, size: 0, operation: 2 },
            ],
            others: vec![
                Other { site: SiteNo::new(0), thread: ThreadNo::FIRST, size: 40, metrics: apart },
                Other { site: SiteNo::new(0), thread: ThreadNo::new(2).unwrap(), size: 16, metrics: freed },
            ],
        }
    }

    #[test]
    fn parts_come_back_and_add_up() {
        assert_eq!(decode(&encode(&parts())).unwrap(), parts());
        assert_eq!(decode(&encode(&Parts::default())).unwrap(), Parts::default());
        let all = parts().of(&chapter()).unwrap();
        let usual = Metrics {
            new_blocks: 4,
            events: 4,
            bytes: Bytes(64),
            largest_bytes: Bytes(16),
            operations: 2,
            ..Metrics::default()
        };
        assert_eq!(all.len(), 4);
        assert_eq!(all[2], Part { node: NodeId::new(9), thread: FIRST, size: 16, metrics: usual });
        assert_eq!(all[3].metrics, chapter().sites.iter().nth(1).unwrap().1);
    }

    #[test]
    fn parts_that_are_let_through_have_their_sums_together() {
        let sum = |admits: fn(Option<ThreadNo>, u64) -> bool| {
            let mut found = Vec::new();
            parts().together(&chapter(), admits, |node, metrics| found.push((node, metrics))).unwrap();
            found
        };
        // Each combination of parts of the first site, beside the sum of what all parts say.
        for admits in [
            |_, _| true,
            |_, _| false,
            |_, size| size == 16,
            |_, size| size == 40,
            |thread, _| thread == FIRST,
            |thread, _| thread != FIRST,
            |thread, size| thread != FIRST || size == 40,
        ] as [fn(Option<ThreadNo>, u64) -> bool; 7]
        {
            let mut expected: Vec<(Option<NodeId>, Metrics)> = Vec::new();
            for part in parts().of(&chapter()).unwrap().iter().filter(|part| admits(part.thread, part.size)) {
                match expected.last_mut().filter(|(node, _)| *node == part.node) {
                    Some((_, sum)) => sum.add(&part.metrics),
                    None => expected.push((part.node, part.metrics)),
                }
            }
            assert_eq!(sum(admits), expected);
        }
    }

    #[test]
    fn parts_of_another_chapter_are_damage() {
        let mut beyond = parts();
        assert!(parts().of(&chapter_with(1)).is_err());
        beyond.others[1].site = SiteNo::new(2);
        assert!(beyond.of(&chapter()).is_err());
        let good = encode(&parts());
        for cut in 0..good.len() {
            assert!(decode(&good[..cut]).is_err());
        }
        assert!(decode(&crate::compress(&[200, 1])).is_err());
        // No file makes a reader take much memory.
        let mut many = Vec::new();
        put_varint(&mut many, 0);
        put_varint(&mut many, MOST_OTHERS as u64 + 1);
        many.resize(many.len() + 20 * MOST_OTHERS, 0);
        assert_eq!(decode(&crate::compress(&many)), Err(Damage::Value("more parts than a chapter may have")));
    }
}
