//! What a change saves, from what a site's calls and faults took: the parts that rules put together.
//!
//! ```text
//! saving = calls that go + pages that go + the program's own work that goes with them - what the remedy costs
//! ```
//!
//! Pages do not always go: a heap hands the pages that one site leaves to the next one. So the heap is played through
//! with and without the site ([`crate::pattern::Pattern::heap_alone`]).

use crate::byte_costs::Work;
use crate::facts::Facts;
use crate::range::Range;
use crate::savings::Saves;
use crate::site::Site;
use memtoll_trace::ids::Bytes;

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
    let deferred = facts.delayed.of_site(site);
    let deferred = Range::new(deferred * 0.7, deferred, deferred * 1.2);
    // What a long call does for blocks of other lines stays, and is done by another call then. It may also be its own.
    let others = facts.delayed.for_others(site).min(site.allocator.likely);
    let own = site.allocator;
    let own = Range::new((own.low - others).max(0.0), own.likely - others, own.high);
    own.plus(deferred).scaled(share).times(CACHES).plus(around)
}

/// All that a line costs, with what it leaves to others, ns of CPU time at the most.
pub fn most(facts: &Facts, site: &Site) -> f64 {
    let pages = (site.metrics().small_faults + site.metrics().huge_faults) as f64 * Work::of(&facts.tariff).unmap_page;
    (calls(facts, site, 1.0).high + site.faults.high + pages + site.mapping.high) * UNSEEN.high
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
    let all = metrics.small_faults as f64;
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
    let unmap = Work::of(&facts.tariff).unmap_page;
    let ns = Range::new(
        faults.low * each(site.faults.low),
        faults.likely * (each(site.faults.likely) + unmap),
        faults.high * (each(site.faults.high) + unmap),
    );
    Pages { faults, ns }
}

/// Whether each block has a mapping of its own, or is one: no other site can take over its pages.
pub fn has_own_mappings(site: &Site) -> bool {
    const LEAST: Bytes = Bytes(128 << 10);
    let metrics = site.metrics();
    let pieces = site.acquired() + metrics.mappings;
    pieces > 0 && (metrics.bytes + metrics.mapped_bytes) / pieces >= LEAST
}

/// The savings of a change that takes CPU time `cpu` away, and this share of a site's allocations.
pub fn saves(facts: &Facts, site: &Site, cpu: Range, faults: Range, share: f64) -> Saves {
    let cpu = cpu.times(UNSEEN);
    Saves {
        cpu_ns: cpu,
        wall_ns: wall(facts, site, cpu),
        faults,
        allocations: Range::exact((site.acquired() as f64 * share).round()),
        bytes: Range::exact((site.metrics().bytes.0 as f64 * share).round()),
        ..Saves::default()
    }
}

/// Wall time for CPU time: the same where one thread works at a time; of several, they may have worked side by side.
/// What a site waits may go, too.
pub fn wall(facts: &Facts, site: &Site, cpu: Range) -> Range {
    let at_work = facts.wall.at_work();
    // The main thread that begins and ends others is a little of a second one.
    if at_work <= 1.05 {
        return cpu;
    }
    let low = cpu.low.min(0.0).min(cpu.low / at_work);
    Range::new(low, cpu.likely / at_work, cpu.high).with(Range { likely: 0.0, ..facts.wall.waited(site.costs.waiting) })
}
