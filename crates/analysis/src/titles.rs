//! What metrics are called where the processes or the span make them another thing than their name says.

use crate::metric::Metric;

/// Of one selection.
#[derive(Clone, Copy, Default, Debug)]
pub struct Titles {
    /// Of several processes, each has its peak at an instant of its own: those of rows are of no common instant, and add up to
    /// more than the peak of all.
    pub are_of_several: bool,
    /// The selection ends before the recording does.
    pub end_early: bool,
}

impl Titles {
    /// Of all together.
    pub fn of_all(self, metric: Metric) -> &'static str {
        match metric {
            Metric::Live if self.end_early => "live then",
            other => other.about().title,
        }
    }

    /// Of rows.
    pub fn in_rows(self, metric: Metric) -> &'static str {
        match metric {
            Metric::Peak if self.are_of_several => "own peaks",
            other => self.of_all(other),
        }
    }
}
