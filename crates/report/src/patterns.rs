//! How call sites use memory, in JSON.

use memtoll_analysis::patterns::{RowPattern, ThreadCount};
use memtoll_analysis::tariff::Tariff;
use memtoll_trace::histogram::Histogram;
use memtoll_trace::pattern::Growth;
use serde::Serialize;

/// A histogram. Values are at most 3.1 % off.
#[derive(Serialize)]
struct JsonHistogram {
    count: u64,
    median: Option<u64>,
    p90: Option<u64>,
    p99: Option<u64>,
    /// Lowest value, highest value, how many.
    buckets: Vec<[u64; 3]>,
}

impl JsonHistogram {
    /// `unit` converts the values.
    fn new(histogram: &Histogram, unit: impl Fn(u64) -> u64) -> Self {
        let quantile = |share| histogram.quantile(share).map(&unit);
        JsonHistogram {
            count: histogram.total(),
            median: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            buckets: histogram.buckets().map(|(low, high, count)| [unit(low), unit(high), count]).collect(),
        }
    }

    fn plain(histogram: &Histogram) -> Self {
        JsonHistogram::new(histogram, |value| value)
    }
}

#[derive(Serialize)]
struct JsonThreads {
    count: u64,
    /// There may be more.
    is_least: bool,
}

impl From<ThreadCount> for JsonThreads {
    fn from(threads: ThreadCount) -> Self {
        JsonThreads { count: threads.count, is_least: threads.is_least }
    }
}

#[derive(Serialize)]
struct JsonGrowth {
    steps: u64,
    blocks: u64,
    by_step: JsonHistogram,
    sizes: JsonHistogram,
    reached: Option<JsonHistogram>,
}

impl JsonGrowth {
    fn new(growth: &Growth) -> Option<Self> {
        (!growth.steps.is_empty()).then(|| JsonGrowth {
            steps: growth.steps.total(),
            blocks: growth.blocks(),
            by_step: JsonHistogram::plain(&growth.steps),
            sizes: JsonHistogram::plain(&growth.grown_to),
            reached: growth.reached().as_ref().map(JsonHistogram::plain),
        })
    }
}

#[derive(Serialize)]
pub(crate) struct JsonPattern {
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    sizes: JsonHistogram,
    elements: Option<JsonHistogram>,
    lifetimes_ns: JsonHistogram,
    allocating_threads: JsonThreads,
    freeing_threads: JsonThreads,
    freed_by_other_threads: u64,
    reallocated: Option<JsonGrowth>,
    replaced: Option<JsonGrowth>,
}

impl JsonPattern {
    pub fn new(pattern: &RowPattern, tariff: &Tariff) -> Self {
        let ns = |units: u64| tariff.ns(units as f64) as u64;
        JsonPattern {
            first_ns: pattern.first.map(ns),
            last_ns: pattern.first.map(|_| ns(pattern.last)),
            sizes: JsonHistogram::plain(&pattern.sizes),
            elements: pattern.elements.as_ref().map(JsonHistogram::plain),
            lifetimes_ns: JsonHistogram::new(&pattern.lifetimes, ns),
            allocating_threads: pattern.acquiring.into(),
            freeing_threads: pattern.releasing.into(),
            freed_by_other_threads: pattern.released_elsewhere,
            reallocated: JsonGrowth::new(&pattern.reallocated),
            replaced: JsonGrowth::new(&pattern.replaced),
        }
    }
}
