//! Which metrics formats have that can have several.

use memtoll_analysis::metric::{About, Metric, Together};
use memtoll_query::Answer;

/// In the order in which formats have them.
const METRICS: [Metric; 19] = [
    Metric::Acquisitions,
    Metric::Bytes,
    Metric::LiveBlocks,
    Metric::Live,
    Metric::Cost,
    Metric::Allocator,
    Metric::FaultTime,
    Metric::Zeroing,
    Metric::Mapping,
    Metric::Waiting,
    Metric::Reading,
    Metric::Faults,
    Metric::Peak,
    Metric::Temporary,
    Metric::Frees,
    Metric::NullFrees,
    Metric::Touched,
    Metric::Mappings,
    Metric::Mapped,
];

/// The metrics of an answer of which stacks have their shares, and which somebody saw. The one that was asked for is among
/// them, if it is such a metric.
pub fn metrics(answer: &Answer) -> Vec<&'static About> {
    let asked = answer.metric.filter(|metric| !METRICS.contains(metric));
    METRICS.into_iter().chain(asked).filter(|metric| why_not(answer, *metric).is_none()).map(Metric::about).collect()
}

/// The one to begin with, as a place in [`metrics`].
pub fn first(answer: &Answer, metrics: &[&About]) -> usize {
    metrics.iter().position(|about| Some(about.metric) == answer.metric).unwrap_or(0)
}

/// Statements about metrics that stacks have no shares of here.
pub fn lacks(answer: &Answer) -> Vec<String> {
    let asked = answer.metric.filter(|metric| !METRICS.contains(metric));
    METRICS.into_iter().chain(asked).filter_map(|metric| why_not(answer, metric)).collect()
}

/// Why stacks have no shares of a metric.
fn why_not(answer: &Answer, metric: Metric) -> Option<String> {
    let about = metric.about();
    let are_several = answer.basis.sums.as_ref().is_some_and(|sums| sums.are_of_several());
    match about.together {
        _ if !metric.is_known(answer.basis.tariff.sees()) => {
            Some(format!("the recording does not tell \"{}\": the kernel did not show it", about.name))
        }
        Together::Peak if are_several => {
            Some(format!("\"{}\" is left out: each process has its peak at a time of its own", about.name))
        }
        Together::Sum | Together::Peak => None,
        Together::Largest | Together::Mean => {
            Some(format!("\"{}\" is left out: the values of call stacks do not add up", about.name))
        }
    }
}

/// That the metric that was asked for is not among those that a format has, if so.
pub fn not_among(answer: &Answer, names: &[&str]) -> Option<String> {
    let asked = answer.metric?.about().name;
    (!names.contains(&asked)).then(|| format!("it has no \"{asked}\""))
}
