//! Which differences are more than two runs of the same program show.

use super::{Quantity, Samples, Sides, Values};
use crate::metric::{Steadiness, Together};

/// Of the intervals that are shown.
pub const CONFIDENCE: f64 = 0.95;

/// A smaller share of the whole does not matter.
const LEAST_SHARE: f64 = 0.005;

/// What a single pair of recordings resolves. Calls and bytes are counted to the last one; faults come and go with
/// what else the machine does, and so do times, by far more.
pub mod single {
    /// Share of the whole, of calls and bytes.
    pub const COUNTS: f64 = 0.001;
    /// Share of the whole, and number.
    pub const FAULTS: (f64, f64) = (0.01, 10.0);
    /// Share of the whole, and ns.
    pub const COST: (f64, f64) = (0.25, 10e6);
}

impl Quantity {
    /// The smallest difference that a single pair of recordings resolves: a share of the whole, and a number.
    pub fn resolves(self) -> Option<(f64, f64)> {
        match self.metric().steadiness() {
            // With the bytes, or by chance.
            _ if self.metric().about().together == Together::Peak => None,
            Steadiness::Counted => Some((single::COUNTS, 0.0)),
            Steadiness::Faults => Some(single::FAULTS),
            Steadiness::Timed => Some(single::COST),
        }
    }
}

/// Tells differences from noise.
pub struct Noise {
    totals: Values,
    /// How many call sites matter. One in twenty of them would look changed by chance; all together should not.
    candidates: usize,
    /// The quantities that are known of all recordings.
    known: Vec<Quantity>,
    has_intervals: bool,
}

impl Noise {
    /// For call sites with these values.
    pub fn new<'v>(sides: &Sides, all: impl Iterator<Item = &'v Values>) -> Noise {
        let has_intervals = sides.iter().all(|runs| runs.len() > 1);
        let known = Quantity::ALL.into_iter().filter(|quantity| quantity.is_known(sides)).collect();
        let mut noise = Noise { totals: Values::totals(sides), candidates: 1, known, has_intervals };
        let matters = |values: &&Values| noise.known.iter().any(|quantity| noise.matters(*quantity, values));
        noise.candidates = all.filter(matters).count().max(1);
        noise
    }

    /// Whether there are several recordings on both sides.
    pub fn has_intervals(&self) -> bool {
        self.has_intervals
    }

    /// How many call sites are large enough to be looked at.
    pub fn candidates(&self) -> usize {
        self.candidates
    }

    fn whole(&self, quantity: Quantity) -> f64 {
        self.totals.of(quantity).larger()
    }

    fn matters(&self, quantity: Quantity, values: &Values) -> bool {
        let larger = values.of(quantity).larger();
        larger > 0.0 && larger >= LEAST_SHARE * self.whole(quantity)
    }

    /// Whether a call site changed.
    pub fn is_exceeded(&self, values: &Values) -> bool {
        let exceeds = |quantity: &Quantity| {
            let samples = values.of(*quantity);
            match self.has_intervals {
                true => self.is_significant(*quantity, values),
                false => self.is_resolved(*quantity, samples),
            }
        };
        self.known.iter().any(exceeds)
    }

    fn is_significant(&self, quantity: Quantity, values: &Values) -> bool {
        // Bonferroni: the chance of one false alarm among all is that of one.
        let confidence = 1.0 - (1.0 - CONFIDENCE) / (self.candidates * self.known.len().max(1)) as f64;
        let samples = values.of(quantity);
        let difference = samples.difference().abs();
        difference >= LEAST_SHARE * self.whole(quantity)
            && samples.margin(confidence).is_some_and(|margin| difference > margin)
    }

    fn is_resolved(&self, quantity: Quantity, samples: &Samples) -> bool {
        let difference = samples.difference().abs();
        let beyond = |(share, least): (f64, f64)| difference >= (share * self.whole(quantity)).max(least);
        difference > 0.0 && quantity.resolves().is_some_and(beyond)
    }

    /// How much a change matters: the largest share that it has of any whole.
    pub fn weight(&self, values: &Values) -> f64 {
        let share = |quantity: &Quantity| match self.whole(*quantity) {
            whole if whole > 0.0 => values.of(*quantity).difference().abs() / whole,
            _ => 0.0,
        };
        self.known.iter().map(share).fold(0.0, f64::max)
    }
}
