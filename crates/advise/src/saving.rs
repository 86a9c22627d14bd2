//! What a change saves, from what a site's calls and faults took: the parts that rules put together.
//!
//! ```text
//! saving = calls that go + pages that go + the program's own work that goes with them - what the remedy costs
//! ```
//!
//! Pages do not always go: a heap hands the pages that one site leaves to the next one. So the heap is played through
//! with and without the site ([`crate::pattern::Pattern::heap_alone`]).

use crate::facts::Facts;
use crate::finding::Saves;
use crate::range::Range;
use crate::site::Site;
use memtoll_analysis::tariff::Tariff;

/// What the program does beside the calls themselves, ns each, from the machine's prices.
pub struct Work {
    /// Copying a byte: a warm cache, a mix, a cold one.
    pub copy_byte: Range,
    /// Filling a byte with zeroes.
    pub fill_byte: Range,
    /// What the kernel needs to take a page away again.
    pub unmap_page: f64,
    /// A byte of memory that is touched for the first time in huge pages, in pages that are populated in one go, and
    /// page by page.
    pub fresh_byte: Range,
}

impl Work {
    /// Copying a byte at the prices of a recording, ns.
    pub fn copy_byte(tariff: &Tariff) -> Range {
        let zeroing = zeroing(tariff);
        Range::new(zeroing, zeroing * 2.0, zeroing * 6.0)
    }

    /// At the prices of a recording.
    pub fn of(facts: &Facts) -> Work {
        let (prices, page) = (facts.tariff.prices(), facts.page());
        let zeroing = zeroing(&facts.tariff);
        let fault = facts.tariff.faults().page / page;
        let huge = prices.huge_fault.map_or(fault * 0.4, |price| price.median / (2 << 20) as f64);
        Work {
            copy_byte: Work::copy_byte(&facts.tariff),
            fill_byte: Range::new(zeroing * 0.5, zeroing, zeroing * 2.0),
            unmap_page: prices.unmap_page.median,
            fresh_byte: Range::new(huge.min(fault), fault * 0.5, fault),
        }
    }
}

/// Zeroing a byte, ns. Without prices, that of a machine of 2023.
fn zeroing(tariff: &Tariff) -> f64 {
    let page = tariff.prices().zeroing.median;
    (if page > 0.0 { page } else { 200.0 }) / tariff.page() as f64
}

/// What a call takes outside of the allocator's code, where samples blame the caller: the call itself, its arguments, and
/// what the caller has to save and load again. ns.
const CALL: Range = Range { low: 0.0, likely: 1.0, high: 2.0 };

/// What the program itself gains or loses with a site's calls, as a share of what these took: headers that are no longer
/// written leave the caches to others; what is now done without a call may wait for the same memory.
const CACHES: Range = Range { low: 0.9, likely: 1.0, high: 1.15 };

/// How far the model itself is off in programs and on machines that it was not fitted to. Of ten savings on two machines that
/// lay outside of the ranges without this, five lie inside with it (docs/advice.md).
const UNSEEN: Range = Range { low: 0.85, likely: 1.0, high: 1.15 };

/// What a share of a site's calls took, and what they leave to others.
pub fn calls(facts: &Facts, site: &Site, share: f64) -> Range {
    let around = CALL.scaled(site.metrics().timed_calls as f64 * share);
    let deferred = facts.late.of_site(site);
    let deferred = Range::new(deferred * 0.7, deferred, deferred * 1.2);
    // What a long call does for blocks of other lines stays, and is done by another call then. It may also be its own.
    let others = facts.late.for_others(site).min(site.allocator.likely);
    let own = site.allocator;
    let own = Range::new((own.low - others).max(0.0), own.likely - others, own.high);
    own.plus(deferred).scaled(share).times(CACHES).plus(around)
}

/// What making, filling and dropping an object takes beside the allocator's calls, where plain runs do not tell: ns a block.
const MAKING: Range = Range { low: 0.0, likely: 5.0, high: 15.0 };

/// The program's own work on the objects in a site's blocks, as far as it goes: this share of it.
pub fn making(facts: &Facts, site: &Site, share: Range) -> Range {
    let blocks = site.acquired() as f64;
    let all = match facts.own.making(site, facts.function(site)) {
        Some(all) => {
            // Other lines make objects of the type, too.
            let alike = facts.sites.iter().filter(|other| other.row.type_name == site.row.type_name);
            all.scaled(blocks / alike.map(|other| other.acquired()).sum::<u64>().max(1) as f64)
        }
        None => MAKING.scaled(blocks),
    };
    all.times(share)
}

/// Page faults of a site that go if it touches only a share `kept` of its memory, and what they took, ns.
pub struct Pages {
    /// How many.
    pub faults: Range,
    /// What they took, with taking the pages away.
    pub ns: Range,
}

/// The pages of a site that go if only a share `kept` of its bytes is touched, from 0 to 1.
pub fn pages(facts: &Facts, site: &Site, kept: f64) -> Pages {
    let metrics = site.metrics();
    let all = metrics.faults as f64;
    let goes = (1.0 - kept).clamp(0.0, 1.0);
    let faults = match has_own_mappings(site) {
        true => Range::exact(all * goes),
        // Its share of the heap's largest extent.
        false => {
            let extent = site.pattern.heap_alone as f64 / facts.page();
            let alone = extent.min(all);
            // Where its faults are as many, it is no chance that no other code could use its pages.
            let least = if all <= extent * 1.1 { 0.9 } else { 0.6 };
            Range::new(alone * goes * least, alone * goes, all * goes)
        }
    };
    let each = |ns: f64| if all > 0.0 { ns / all } else { 0.0 };
    let unmap = Work::of(facts).unmap_page;
    let ns = Range::new(
        faults.low * each(site.faults.low),
        faults.likely * (each(site.faults.likely) + unmap),
        faults.high * (each(site.faults.high) + unmap),
    );
    Pages { faults, ns }
}

/// Whether each block has a mapping of its own, or is one: no other site can take over its pages.
pub fn has_own_mappings(site: &Site) -> bool {
    const LEAST: u64 = 128 << 10;
    let metrics = site.metrics();
    let pieces = site.acquired() + metrics.mappings;
    pieces > 0 && (metrics.bytes_allocated + metrics.mapped_bytes) / pieces >= LEAST
}

/// The savings of a change that takes processor time `cpu` away, and this share of a site's allocations.
pub fn saves(facts: &Facts, site: &Site, cpu: Range, faults: Range, share: f64) -> Saves {
    let cpu = cpu.times(UNSEEN);
    Saves {
        cpu_ns: cpu,
        wall_ns: wall(facts, site, cpu),
        faults,
        allocations: Range::exact((site.acquired() as f64 * share).round()),
        bytes: Range::exact((site.metrics().bytes_allocated as f64 * share).round()),
        ..Saves::default()
    }
}

/// Wall time for processor time: the same in a program of one thread; of several, they may have worked side by side. What
/// a site waits may go, too.
pub fn wall(facts: &Facts, site: &Site, cpu: Range) -> Range {
    let threads = facts.threads().min(facts.recording.about.machine.processors.max(1) as usize) as f64;
    match threads > 1.0 {
        false => cpu,
        true => {
            Range::new(cpu.low.min(0.0).min(cpu.low / threads), cpu.likely / threads, cpu.high + site.costs.waiting)
        }
    }
}
