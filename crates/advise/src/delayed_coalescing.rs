//! What frees of small blocks leave to other calls: glibc puts small free blocks together once a large one is asked for or
//! given back, and that call takes long.

use crate::pattern::calls::Calls;
use crate::site::Site;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::tariff::Tariff;
use memtoll_model::StackId;
use memtoll_trace::ids::Bytes;
use memtoll_trace::op::Op;
use rustc_hash::FxHashMap;

/// Blocks up to this size are not put together with their neighbours at once: glibc's fast bins, bytes.
const SMALL: Bytes = Bytes(120);

/// Work that small blocks leave to later calls.
#[derive(Debug, Default, PartialEq)]
pub struct DelayedWork {
    /// What it took.
    ns: f64,
    /// Small blocks.
    small: u64,
    /// What the calls of a site took of it, ns, by the site's first node.
    of: FxHashMap<StackId, f64>,
}

/// What the calls of a site are known by.
struct SiteCalls<'s> {
    metrics: &'s Priced,
    calls: &'s Calls,
    /// Bytes that its reallocations moved.
    copied_bytes: u64,
    /// What was paid inside for faults, mappings and waiting, ns, at the most: it must not be taken for others' work.
    inside: f64,
}

impl SiteCalls<'_> {
    /// What its long calls took that is neither their usual work nor copying and zeroing of their own blocks, ns. Page
    /// faults, mappings and waiting inside of them are no work of the allocator.
    fn excess(&self, ns: impl Fn(f64) -> f64, byte: f64) -> f64 {
        let of = self.metrics;
        let all = (ns((self.calls.short_time + self.calls.long_time) as f64) - self.inside).max(1.0);
        // The recorded time has stamps in it; what the allocator took without them is known as a sum.
        let share = ((ns(self.calls.excess()) - self.inside).max(0.0) / all).min(1.0);
        let is_zeroed = of.operations & Op::ZEROED != 0;
        let own = if is_zeroed { of.bytes } else { Bytes::ZERO } + Bytes(self.copied_bytes);
        (of.allocator_ns.0 as f64 * share - own.0 as f64 * byte).max(0.0)
    }
}

fn is_small(site: &Site) -> bool {
    site.pattern.blocks > 0 && site.mean_size() <= SMALL.0
}

impl DelayedWork {
    /// Of the lines that cost something, in a program whose call sites all together are `all`; copying a byte takes
    /// `copy_byte` ns.
    pub fn of(sites: &[Site], all: impl Iterator<Item = Priced>, tariff: &Tariff, copy_byte: f64) -> DelayedWork {
        let is_small_priced = |of: &Priced| of.allocations() > 0 && of.bytes <= SMALL.times(of.allocations());
        let small = all.filter(is_small_priced).map(|of| of.allocations()).sum();
        let excess = |site: &Site| {
            let seen = SiteCalls {
                metrics: site.metrics(),
                calls: &site.pattern.calls,
                copied_bytes: site.pattern.copied_bytes,
                inside: tariff.paid_inside(&site.metrics().counts).high,
            };
            Some((*site.nodes.first()?, seen.excess(|units| tariff.ns(units), copy_byte)))
        };
        let of: FxHashMap<StackId, f64> = sites.iter().filter(|site| !is_small(site)).filter_map(excess).collect();
        DelayedWork { ns: of.values().sum(), small, of }
    }

    /// What a site's calls, or those below a line, do for small blocks of other lines, ns: it stays when the calls go.
    pub fn for_others(&self, site: &Site) -> f64 {
        if self.small == 0 || is_small(site) {
            return 0.0;
        }
        site.nodes.iter().filter_map(|node| self.of.get(node)).sum()
    }

    /// What frees of a site's blocks leave to other calls, ns.
    pub fn of_site(&self, site: &Site) -> f64 {
        if is_small(site) { self.of_small_blocks(site.acquired()) } else { 0.0 }
    }

    fn of_small_blocks(&self, blocks: u64) -> f64 {
        if self.small == 0 { 0.0 } else { self.ns * (blocks as f64 / self.small as f64).min(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_text::amounts::Nanoseconds;

    /// 16,000 calls of 30 ns, and 400 that take 24 µs.
    const CALLS: Calls = Calls { short: 16_000, short_time: 480_000, long: 400, long_time: 9_612_000 };

    fn seen(inside: f64, allocator_ns: u64, copied_bytes: u64) -> f64 {
        let metrics = Priced { allocator_ns: Nanoseconds(allocator_ns), ..Priced::default() };
        SiteCalls { metrics: &metrics, calls: &CALLS, copied_bytes, inside }.excess(|units| units, 0.1)
    }

    /// In the mean, a call takes half a microsecond: the few that put blocks together are lost in it.
    #[test]
    fn a_few_long_calls_do_the_work_of_small_blocks() {
        let all = seen(0.0, 10_092_000, 0);
        assert!((9_590_000.0..9_610_000.0).contains(&all), "{all}");
        let half = seen(0.0, 5_046_000, 0);
        assert!((half * 2.0 - all).abs() < 1.0, "of what the allocator took without the recorder");
    }

    #[test]
    fn what_a_long_call_does_for_its_own_block_is_its_own() {
        let all = seen(0.0, 10_092_000, 0);
        assert_eq!(seen(0.0, 10_092_000, 1_000_000), all - 1e5, "copying");
        assert_eq!(seen(0.0, 10_092_000, 1 << 40), 0.0, "no more than there is");
        assert_eq!(seen(9_700_000.0, 400_000, 0), 0.0, "faults and mappings");
    }

    #[test]
    fn small_blocks_share_what_they_left() {
        let delayed = DelayedWork { ns: 50_000.0, small: 4000, of: FxHashMap::default() };
        assert_eq!(delayed.of_small_blocks(1000), 12_500.0);
        // Of a line with several call sites, the blocks of some may be larger; all together are small on average.
        assert_eq!(delayed.of_small_blocks(9000), 50_000.0);
        assert_eq!(DelayedWork::default().of_small_blocks(5), 0.0);
    }
}
