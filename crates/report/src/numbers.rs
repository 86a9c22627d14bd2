//! The numbers of sums as text: all of them come through here, so that each has no more digits than are known, and its error
//! where there is room for it.

use memtoll_analysis::estimate::Estimate;
use memtoll_analysis::metric::Metric;
use memtoll_analysis::priced::Priced;
use memtoll_analysis::tariff::Tariff;
use memtoll_text::format::UNKNOWN;

/// Titles of columns that several tables have.
pub(crate) const LIVE_AT_END: &str = "live at end";
pub(crate) const SHARE: &str = "share";

/// Sums, and what things cost in their recording.
#[derive(Clone, Copy)]
pub(crate) struct Numbers<'a> {
    pub of: &'a Priced,
    pub tariff: &'a Tariff,
}

impl Numbers<'_> {
    /// For tables, without the error: `29,461`, `12 ms`.
    pub fn cell(self, metric: Metric) -> String {
        if self.hides(metric) { UNKNOWN.to_owned() } else { self.estimate(metric).known(metric.about().unit) }
    }

    /// Whether an allocator of the program hides the frees that the metric needs, or what lies in memory is not known.
    pub fn hides(self, metric: Metric) -> bool {
        metric.about().seen.is_of_blocks() && !metric.is_known_of(self.of, self.tariff.sees())
    }

    /// The same; blank if there is nothing.
    pub fn cell_or_blank(self, metric: Metric) -> String {
        if metric.value(self.of) == 0 && !self.hides(metric) { String::new() } else { self.cell(metric) }
    }

    /// With the error, if there is one: `29,461`, `30,100 ± 500`.
    pub fn with_error(self, metric: Metric) -> String {
        if self.hides(metric) { UNKNOWN.to_owned() } else { self.estimate(metric).with_error(metric.about().unit) }
    }

    /// The same of things: `1 block`, `30,100 ± 500 blocks`.
    pub fn things(self, metric: Metric, thing: &str) -> String {
        self.estimate(metric).things(thing)
    }

    /// In a row whose numbers are to be compared with those of others.
    pub fn in_row(self, metric: Metric) -> String {
        if self.hides(metric) { UNKNOWN.to_owned() } else { metric.show(self.estimate(metric)) }
    }

    /// How much of all it is; blank if there is nothing.
    pub fn share(self, metric: Metric, all: &Priced) -> String {
        if self.hides(metric) {
            return String::new();
        }
        let whole = metric.value(all) as f64;
        let of = self.estimate(metric);
        // As with numbers in a row, prices are wrong by the same part in both.
        if metric.is_estimated() { Estimate::exact(of.value).share_of(whole) } else { of.share_of(whole) }
    }

    pub fn estimate(self, metric: Metric) -> Estimate {
        self.tariff.estimate(metric, self.of)
    }
}
