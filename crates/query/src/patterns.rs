//! How call sites use memory, in JSON.

#![allow(missing_docs, reason = "the names are those of the JSON, which docs/json.md describes")]

use memtoll_analysis::metric::Metric;
use memtoll_analysis::patterns::{RowPattern, ThreadCount};
use memtoll_analysis::priced::Priced;
use memtoll_analysis::tariff::Tariff;
use memtoll_trace::cells;
use memtoll_trace::histogram::Histogram;
use memtoll_trace::pattern::Growth;
use serde::Serialize;

/// A histogram. Values are at most 3.1 % off.
#[derive(Serialize)]
pub struct Histograms {
    pub count: u64,
    pub median: Option<u64>,
    pub p90: Option<u64>,
    pub p99: Option<u64>,
    /// Lowest value, highest value, how many.
    pub buckets: Vec<[u64; 3]>,
}

impl Histograms {
    /// `unit` converts the values.
    fn new(histogram: &Histogram, unit: impl Fn(u64) -> u64) -> Self {
        let quantile = |share| histogram.quantile(share).map(&unit);
        Histograms {
            count: histogram.total(),
            median: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            buckets: histogram.buckets().map(|(low, high, count)| [unit(low), unit(high), count]).collect(),
        }
    }

    fn plain(histogram: &Histogram) -> Self {
        Histograms::new(histogram, |value| value)
    }
}

#[derive(Serialize)]
pub struct Threads {
    pub count: u64,
    /// There may be more.
    pub is_least: bool,
}

impl From<ThreadCount> for Threads {
    fn from(threads: ThreadCount) -> Self {
        Threads { count: threads.count, is_least: threads.is_least }
    }
}

#[derive(Serialize)]
pub struct Growths {
    pub steps: u64,
    pub blocks: u64,
    pub by_step: Histograms,
    pub sizes: Histograms,
    pub reached: Option<Histograms>,
}

impl Growths {
    fn new(growth: &Growth) -> Option<Self> {
        (!growth.steps.is_empty()).then(|| Growths {
            steps: growth.steps.total(),
            blocks: growth.blocks(),
            by_step: Histograms::plain(&growth.steps),
            sizes: Histograms::plain(&growth.grown_to),
            reached: growth.reached().as_ref().map(Histograms::plain),
        })
    }
}

/// How the blocks of a row were used.
#[derive(Serialize)]
pub struct Pattern {
    pub first_ns: Option<u64>,
    pub last_ns: Option<u64>,
    pub sizes: Histograms,
    pub elements: Option<Histograms>,
    /// `None`, and so on below: frees are hidden.
    pub lifetimes_ns: Option<Histograms>,
    /// Lowest size, highest size, lowest lifetime, highest lifetime, how many blocks.
    pub sizes_and_lifetimes_ns: Option<Vec<[u64; 5]>>,
    pub allocating_threads: Threads,
    pub freeing_threads: Option<Threads>,
    pub freed_by_other_threads: Option<u64>,
    pub reallocated: Option<Growths>,
    pub replaced: Option<Growths>,
}

impl Pattern {
    pub(crate) fn new(pattern: &RowPattern, of: &Priced, tariff: &Tariff) -> Self {
        let ns = |units: u64| tariff.ns(units as f64) as u64;
        let sees_frees = Metric::Lifetime.is_known_of(of, tariff.sees());
        Pattern {
            first_ns: pattern.first.map(ns),
            last_ns: pattern.first.map(|_| ns(pattern.last)),
            sizes: Histograms::plain(&pattern.sizes),
            elements: pattern.elements.as_ref().map(Histograms::plain),
            lifetimes_ns: sees_frees.then(|| Histograms::new(&pattern.lifetimes, ns)),
            sizes_and_lifetimes_ns: sees_frees.then(|| cells(pattern, ns)),
            allocating_threads: pattern.acquiring.into(),
            freeing_threads: sees_frees.then(|| pattern.releasing.into()),
            freed_by_other_threads: sees_frees.then_some(pattern.released_elsewhere),
            reallocated: Growths::new(&pattern.reallocated),
            replaced: Growths::new(&pattern.replaced),
        }
    }
}

fn cells(pattern: &RowPattern, ns: impl Fn(u64) -> u64) -> Vec<[u64; 5]> {
    let cell = |(size, lifetime, count)| {
        let ((smallest, largest), (shortest, longest)) = (cells::range(size), cells::range(lifetime));
        [smallest, largest, ns(shortest), ns(longest), count]
    };
    pattern.cells.iter().map(cell).collect()
}
