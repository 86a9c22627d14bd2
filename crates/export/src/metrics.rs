//! Which metrics formats have that can have several.

use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::metric::{About, Metric, Place, Together};
use memtoll_analysis::priced::Priced;
use memtoll_analysis::stacks::Stacks;
use memtoll_analysis::tariff::Tariff;
use memtoll_query::Answer;
use std::borrow::Borrow;

/// In the order in which formats have them. The one that was asked for is among them.
fn ordered(answer: &Answer) -> impl Iterator<Item = Metric> {
    let asked = answer.metric.filter(|asked| !asked.about().is_in(Place::Export));
    Metric::shown_in(Place::Export).chain(asked)
}

/// The metrics of an answer of which stacks have their shares, and which were observed. The one that was asked for is among
/// them, if it is such a metric.
pub fn metrics(answer: &Answer) -> Vec<&'static About> {
    ordered(answer).filter(|metric| why_not(answer, *metric).is_none()).map(Metric::about).collect()
}

/// The one to begin with, as a place in [`metrics`].
pub fn first(answer: &Answer, metrics: &[&About]) -> usize {
    let first = answer.metric.unwrap_or(Metric::Allocations);
    metrics.iter().position(|about| about.metric == first).unwrap_or(0)
}

/// Statements about metrics that stacks have no shares of here.
pub fn lacks(answer: &Answer) -> Vec<String> {
    ordered(answer).filter_map(|metric| why_not(answer, metric)).collect()
}

/// The sum of what a file has, with its error: formats have no place for that of each number.
pub struct Total<'a> {
    tariff: &'a Tariff,
    sum: Priced,
}

impl<'a> Total<'a> {
    /// Of all stacks that the filter lets through.
    pub fn of(answer: &'a Answer) -> Total<'a> {
        let Some(sums) = &answer.basis.sums else { return Total::together(answer, [Priced::default()]) };
        if !answer.basis.view.selects() {
            return Total::together(answer, [&sums.total]);
        }
        let mut stacks = Stacks::new(answer.basis.recording, &answer.basis.view);
        let matching = sums.sites.iter().filter(|site| stacks.of(site.node).matches);
        Total::together(answer, matching.map(|site| site.metrics()))
    }

    /// Of these parts of an answer.
    pub fn together(answer: &'a Answer, parts: impl IntoIterator<Item = impl Borrow<Priced>>) -> Total<'a> {
        let mut sum = Priced::default();
        parts.into_iter().for_each(|part| sum.add(part.borrow()));
        Total { tariff: &answer.basis.tariff, sum }
    }

    /// The total of a metric, if that is an estimate.
    pub fn inexact(&self, metric: Metric) -> Option<Estimate> {
        let estimate = self.tariff.estimate(metric, &self.sum);
        (!estimate.is_exact()).then_some(estimate)
    }

    /// A sentence about a metric that is not exact, which the file calls `name`.
    pub fn error(&self, metric: Metric, name: &str) -> Option<String> {
        let sum = self.inexact(metric)?.with_error(metric.about().unit);
        Some(format!("{name} is an estimate: {sum} in all, in 95 of 100 recordings"))
    }
}

/// Why stacks have no shares of a metric.
pub fn why_not(answer: &Answer, metric: Metric) -> Option<String> {
    let about = metric.about();
    let (sums, sees) = (answer.basis.sums.as_ref(), answer.basis.tariff.sees());
    let is_known = sums.map_or(metric.is_known(sees), |sums| metric.is_known_of(&sums.total, sees));
    let are_several = sums.is_some_and(|sums| sums.are_of_several());
    match about.together {
        _ if !is_known => Some(format!("the recording does not tell \"{}\": {}", about.name, about.seen.why_not())),
        Together::Peak if are_several => {
            Some(format!("\"{}\" is left out: each process has its peak at a time of its own", about.name))
        }
        Together::Sum | Together::Level | Together::Peak => None,
        Together::Largest | Together::Mean(_) => {
            Some(format!("\"{}\" is left out: the values of call stacks do not add up", about.name))
        }
    }
}

/// That the metric that was asked for is not among those that a format has, if so.
pub fn not_among(answer: &Answer, names: &[&str]) -> Option<String> {
    let asked = answer.metric?.about().name;
    (!names.contains(&asked)).then(|| format!("it has no \"{asked}\""))
}
