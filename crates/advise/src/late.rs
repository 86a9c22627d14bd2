//! What frees of small blocks leave to other calls: glibc puts small free blocks together once a large one is asked for or
//! given back, and that call takes long.

use crate::site::Site;
use memtoll_analysis::priced::Priced;

/// Blocks up to this size are not put together with their neighbours at once: glibc's fast bins, bytes.
const SMALL: u64 = 120;
/// A call in the mean this long, beyond faults and mappings, puts blocks together. ns.
const LONG: f64 = 5e3;

/// Work that small blocks leave to later calls.
#[derive(Debug, Default, PartialEq)]
pub struct Late {
    /// What it took.
    ns: f64,
    /// Small blocks.
    small: u64,
    each: f64,
    copy_byte: f64,
}

/// What calls take that is neither their own work nor copying of what they reallocate, ns: of calls that are long.
fn excess(of: &Priced, each: f64, copy_byte: f64) -> f64 {
    let (ns, calls) = (of.allocator_ns as f64, of.timed_calls as f64);
    // Of what grows by a factor, half was there before.
    let copied = if of.reallocations > 0 { of.bytes_allocated as f64 / 2.0 * copy_byte } else { 0.0 };
    if ns > calls * LONG { (ns - calls * each - copied).max(0.0) } else { 0.0 }
}

impl Late {
    /// Of what all call sites cost; a call that puts nothing together takes `each` ns, and copying a byte `copy_byte` ns.
    pub fn of(sites: impl Iterator<Item = Priced>, each: f64, copy_byte: f64) -> Late {
        let mut late = Late { each, copy_byte, ..Late::default() };
        for of in sites {
            late.ns += excess(&of, each, copy_byte);
            let acquired = of.acquisitions();
            if acquired > 0 && of.bytes_allocated <= acquired * SMALL {
                late.small += acquired;
            }
        }
        late
    }

    /// What a site's calls do for small blocks of other lines, ns: it stays when the calls go.
    pub fn for_others(&self, site: &Site) -> f64 {
        let is_small = site.pattern.blocks > 0 && site.mean_size() <= SMALL;
        if self.small == 0 || is_small { 0.0 } else { excess(site.metrics(), self.each, self.copy_byte) }
    }

    /// What frees of a site's blocks leave to other calls, ns.
    pub fn of_site(&self, site: &Site) -> f64 {
        let is_small = site.pattern.blocks > 0 && site.mean_size() <= SMALL;
        if is_small { self.of_small_blocks(site.acquired()) } else { 0.0 }
    }

    fn of_small_blocks(&self, blocks: u64) -> f64 {
        if self.small == 0 { 0.0 } else { self.ns * (blocks as f64 / self.small as f64).min(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use memtoll_trace::metrics::Metrics;

    fn site(calls: u64, bytes: u64, ns: u64) -> Priced {
        let counts =
            Metrics { allocations: calls, bytes_allocated: calls * bytes, timed_calls: calls, ..Metrics::default() };
        Priced { counts, allocator_ns: ns, ..Priced::default() }
    }

    #[test]
    fn long_calls_do_the_work_of_small_blocks() {
        let sites =
            [site(3000, 40, 60_000), site(1000, 120, 20_000), site(1000, 121, 30_000), site(2, 1 << 20, 50_040)];
        let late = Late::of(sites.into_iter(), 20.0, 0.0);
        assert_eq!((late.ns, late.small), (50_000.0, 4000));
        assert_eq!(late.of_small_blocks(1000), 12_500.0);
        // Of a line with several call sites, the blocks of some may be larger; all together are small on average.
        assert_eq!(late.of_small_blocks(9000), 50_000.0);
    }

    #[test]
    fn copying_is_a_reallocations_own_work() {
        let mut grows = site(2, 1 << 20, 500_000);
        assert_eq!(excess(&grows, 20.0, 0.1), 499_960.0);
        (grows.counts.allocations, grows.counts.reallocations) = (0, 2);
        assert_eq!(excess(&grows, 20.0, 0.1), 499_960.0 - 104_857.6);
        assert_eq!(excess(&grows, 20.0, 1.0), 0.0, "no more than there is");
    }

    #[test]
    fn calls_of_ordinary_length_do_nobody_elses_work() {
        let late = Late::of([site(3000, 40, 60_000), site(10, 1 << 20, 50_000)].into_iter(), 20.0, 0.0);
        assert_eq!((late.of_small_blocks(3000), late.small), (0.0, 3000));
        assert_eq!(Late::default().of_small_blocks(5), 0.0);
    }
}
