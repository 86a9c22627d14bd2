//! What single call sites paid, and parts of them, each rounded so that parts add up.
//!
//! Faults cost the same at each site, and all of them together what they took. Inside the calls of one site, they can come
//! out at more than these calls took: its faults were cheaper than others, and those inside calls of other sites dearer. So
//! what such a site overdraws is taken from the allocator's time of the other sites of its image ([`Overdraft`]). All sites
//! together then have what samples and stamps say, charged either way. How much a site overdraws is kept
//! ([`Priced::overdrawn_ns`]), and the intervals reach down as far. Rows and totals are sums of sites.

use super::{HUGE_PAGE, Tariff};
use crate::priced::Priced;
use crate::zeroing_faults::zeroed;
use memtoll_metrics::{Ratio, Settled};
use memtoll_text::amounts::Nanoseconds;
use memtoll_trace::costs::Charge;
use memtoll_trace::ids::{Bytes, Units};
use memtoll_trace::meta::CallTimes;
use memtoll_trace::metrics::Metrics;

/// What call sites of an image took beyond their fastest calls, ns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Overdraft {
    /// All together. Sites that overdraw count with less than nothing.
    all: f64,
    /// Those that do not overdraw.
    others: f64,
}

impl Overdraft {
    /// The share of it that is left to sites that do not overdraw.
    pub fn left(self) -> f64 {
        if self.others > 0.0 { self.all.max(0.0) / self.others } else { 0.0 }
    }

    /// Of these sites and others of their image.
    #[must_use]
    pub fn with(self, more: Overdraft) -> Overdraft {
        Overdraft { all: self.all + more.all, others: self.others + more.others }
    }
}

impl Tariff {
    /// What a site took beyond its fastest calls.
    pub(crate) fn overdraft(&self, site: &Metrics) -> Overdraft {
        let all = self.beyond(&CallTimes::from(site));
        Overdraft { all, others: all.max(0.0) }
    }

    /// What a single site paid in the whole recording, if it is the only one of its image. Prices are settled for each site: those of
    /// several are sums, not priced again.
    pub fn price(&self, site: &Metrics) -> Priced {
        self.price_part(site, self.settle(site, Charge::Allocation))
    }

    /// The same for a part of which the whole is not known. Each of its faults counts as one of a fresh page.
    pub fn price_alone(&self, part: &Metrics) -> Priced {
        self.price_part(part, self.settle(part, Charge::Payment))
    }

    /// What the parts of a site share, of which `site` is the whole. Where it is charged with what it paid, each of its faults counts
    /// as one of a fresh page: what it asked for is not what it touched.
    pub(crate) fn settle(&self, site: &Metrics, charge: Charge) -> Settled {
        let calls = CallTimes::from(site);
        let zeroed = match charge {
            Charge::Allocation => Ratio { part: zeroed(site, self.page) as f64, whole: site.small_faults as f64 },
            Charge::Payment => Ratio { part: 1.0, whole: 1.0 },
        };
        Settled { beyond: Ratio { part: self.beyond(&calls).max(0.0), whole: self.measured(&calls).max(0.0) }, zeroed }
    }

    /// What the parts of a part of a site share.
    pub(crate) fn settled_part(&self, part: &Metrics, settled: Settled) -> Settled {
        let of = |ratio: Ratio, whole: f64| Ratio { part: ratio.share() * whole, whole };
        let measured = self.measured(&CallTimes::from(part));
        Settled { beyond: of(settled.beyond, measured), zeroed: of(settled.zeroed, part.small_faults as f64) }
    }

    /// What a part of a site paid, rounded by itself.
    pub(crate) fn price_part(&self, site: &Metrics, settled: Settled) -> Priced {
        self.price_next_part(site, settled, &mut Remainders::default())
    }

    /// What the next part of a site paid. With the remainders of those before it, the parts of a site add up to it.
    pub(crate) fn price_next_part(&self, site: &Metrics, settled: Settled, left: &mut Remainders) -> Priced {
        let times = CallTimes::from(site);
        let beyond = settled.beyond.share() * self.measured(&times);
        let zeroed = rounded(site.small_faults as f64 * settled.zeroed.share(), &mut left.zeroed);
        let calls = site.timed_calls as f64;
        let faults = self.per_fault(site.small_faults, site.huge_faults) + self.file_faults(site);
        // Stamps scatter, too: calls of a site with few of them may seem to take less than any call does.
        let overdrawn = (-self.beyond(&times) - calls * self.fastest()).max(0.0);
        let ns = |ns: f64, left: &mut f64| Nanoseconds(rounded(ns, left));
        let span = |units: Units, left: &mut f64| ns(self.ns(units.0 as f64), left);
        let zeroing = self.zeroing(zeroed as f64, site.huge_faults);
        // Numbers of a damaged file may be beyond all sums.
        let touched_bytes =
            Bytes(zeroed.wrapping_mul(self.page).wrapping_add(site.huge_faults.wrapping_mul(HUGE_PAGE)));
        Priced {
            counts: *site,
            allocator_ns: ns(self.allocator_time.of_calls(calls, beyond), &mut left.allocator),
            overdrawn_ns: ns(overdrawn, &mut 0.0),
            fault_time_ns: ns(faults, &mut left.faults),
            zeroing_ns: ns(zeroing, &mut left.zeroing),
            mapping_ns: span(site.mapping_time, &mut left.mapping),
            waiting_ns: span(site.waiting_time, &mut left.waiting),
            reading_ns: span(site.reading_time, &mut left.reading),
            lifetime_ns: span(site.lifetime, &mut left.lifetime),
            touched_bytes,
            ..Priced::default()
        }
    }
}

/// What rounding left of the parts of a site, to be part of the next one: pages and ns.
#[derive(Clone, Copy, Default)]
pub(crate) struct Remainders {
    zeroed: f64,
    allocator: f64,
    faults: f64,
    zeroing: f64,
    mapping: f64,
    waiting: f64,
    reading: f64,
    lifetime: f64,
}

/// A whole number, with what was left before; the rest is left. A call of `round` for each of a site's times takes as long as to
/// price it.
fn rounded(amount: f64, left: &mut f64) -> u64 {
    let due = amount + *left;
    let whole = (due + 0.5) as u64;
    *left = due - whole as f64;
    whole
}
