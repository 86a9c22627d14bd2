//! How far sums may be off by chance, where only a sample of what happened was recorded.

use crate::list::{Metric, TABLE};
use crate::metric::Together;

/// The variances of what adds up of each metric ([`Metric::sum`]), in its unit squared: 0 of what was counted. What is sampled
/// at one call site tells nothing of another, so variances add up, too.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Variances {
    /// Whether there is one at all: most recordings have none, and their sums need not add them.
    any: bool,
    of: [f32; TABLE.len()],
}

impl Variances {
    /// That of a metric.
    pub fn of(&self, metric: Metric) -> f64 {
        f64::from(self.of[metric as usize])
    }

    /// With that of a metric.
    #[must_use]
    pub fn with(mut self, metric: Metric, variance: f64) -> Variances {
        self.any |= variance > 0.0;
        self.of[metric as usize] = variance as f32;
        self
    }

    /// Adds those of another site or process.
    pub(crate) fn add(&mut self, other: &Variances) {
        if !other.any {
            return;
        }
        self.any = true;
        for ((own, other), about) in self.of.iter_mut().zip(other.of).zip(TABLE) {
            *own = if about.together == Together::Largest { own.max(other) } else { *own + other };
        }
    }

    /// Takes away those of a part.
    pub(crate) fn subtract(&mut self, part: &Variances) {
        if !part.any {
            return;
        }
        for ((own, part), about) in self.of.iter_mut().zip(part.of).zip(TABLE) {
            *own = if about.together == Together::Largest { *own } else { (*own - part).max(0.0) };
        }
    }
}
